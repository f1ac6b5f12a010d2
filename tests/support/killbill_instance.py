"""KillBills of the tests: one that a process without the rights of root starts, and the one of `make run`.

The gateway of the first can be changed while it runs, by rendering the stand-in's mappings with other settings, as the
supervisor does at a start, and letting the stand-in read them again.
"""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from harness.base.ports import free_port
from harness.plan.spec import load_profile
from harness.system.manifest import load_manifest
from harness.system.supervisor import Supervisor
from harness.system.system import render
from tests.support.killbill_client import KillBill, check_stored
from tests.support.paths import ROOT
from tests.support.processes import QUICK_JAVA, processes_of, wait_for

MANIFEST = load_manifest(ROOT / "systems" / "killbill")
BUILD = ROOT / "build"
FAST = {
    "gateway_median_ms": 5.0,
    "plugin_threads": 20,
    "plugin_timeout_s": 5,
    "shiro_hash_iterations": 1,
}
# Those of the shared KillBill. It has all cores: on one, its first payments take longer than KillBill waits for them.
SMALLEST = load_profile(ROOT / "env", "t2.small").system_settings["killbill"]
SETTINGS = {**SMALLEST, **FAST, "cpus": 0, "database": "mariadb"}
NOBODY = 65534


@dataclass(frozen=True)
class Instance:
    """A running KillBill whose gateway can be changed; process ids by name."""

    target_url: str
    processes: Mapping[str, int]
    ports: Mapping[str, int]

    @cached_property
    def client(self) -> KillBill:
        """A client with a tenant of its own."""
        return KillBill(self.target_url)

    def set_gateway(self, **settings: object) -> None:
        """Let the stand-in behave as after a start with these settings."""
        source = (MANIFEST.folder / "stripe" / "mappings.json").read_text()
        text = render(source, {"settings": MANIFEST.resolve_settings({**FAST, **settings})}, "mappings.json")
        json.loads(text)
        work = Path(psutil.Process(self.processes["stripe"]).cwd())
        (work / "stripe" / "mappings" / "stripe.json").write_text(text)
        url = f"http://127.0.0.1:{self.ports['stripe']}/__admin/mappings/reset"
        urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=10).close()

    def ask_through_proxy(self, url: str, **headers: str) -> tuple[int, str]:
        """Return status and body of a request that goes through the stand-in's CONNECT proxy, trusting its CA alone."""
        proxy = f"http://127.0.0.1:{self.ports['stripe']}"
        proxies = urllib.request.ProxyHandler({"http": proxy, "https": proxy})
        opener = urllib.request.build_opener(proxies, urllib.request.HTTPSHandler(context=self.trusted))
        try:
            with opener.open(urllib.request.Request(url, headers=headers), timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    @cached_property
    def trusted(self) -> ssl.SSLContext:
        """What KillBill's JVM trusts."""
        keytool = Path(os.path.realpath(str(shutil.which("java")))).parent / "keytool"
        store = BUILD / "systems" / "killbill" / "ca.p12"
        argv = [str(keytool), "-exportcert", "-rfc", "-alias", "ca", "-keystore", str(store), "-storepass", "standin"]
        certificate = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        return ssl.create_default_context(cadata=certificate)


def free_ports() -> dict[str, int]:
    """Return free ports for the names of the manifest: fixed, so that the tests know the stand-in's."""
    ports: dict[str, int] = {}
    for name in MANIFEST.ports:
        ports[name] = free_port(ports.values())
    return ports


class Job(NamedTuple):
    """The main job of the README, which has ended; `port` was that of its KillBill, `processes` are left of it."""

    output: str
    directory: Path
    summary: dict[str, Any]
    port: str
    processes: list[psutil.Process]


def main_job(reports: Path) -> Job:
    """Run `make run` as the README has it, and meanwhile send a payment of ours to its KillBill."""
    directory, errors = reports / "killbill-stripe" / "run-01_1", reports / "errors.txt"
    samples, port = directory / "samples.jtl", ""
    command = ["make", "-C", str(ROOT), "--no-print-directory", "run", f"REPORTS={reports}"]

    def is_paid() -> bool:
        return samples.is_file() and "Capture Payment" in samples.read_text()

    with errors.open("w") as file, subprocess.Popen(
        [*command, "PLAN=killbill-stripe", "USERS=4", "DURATION=30"],
        env={**os.environ, **QUICK_JAVA}, stdout=subprocess.PIPE, stderr=file, text=True,
    ) as make:  # fmt: skip
        wait_for(lambda: make.poll() is not None or is_paid(), 300)
        is_up = make.poll() is None
        if is_up:
            port = json.loads((directory / "run.json").read_text())["properties"]["port"]
            check_stored(KillBill(f"http://127.0.0.1:{port}"))
        text, _ = make.communicate(timeout=200)
    assert (is_up, make.returncode) == (True, 0), text + errors.read_text()
    return Job(text, directory, json.loads(directory.with_suffix(".json").read_text()), port, processes_of(reports))


def codes_of(summary: Mapping[str, Any], label: str) -> dict[str, int]:
    """Return how many samples of a label had each response code."""
    return {code["code"]: code["sample_count"] for code in summary["codes"] if code["label"] == label}


class Started(NamedTuple):
    """What the supervisor of another process reports about the KillBill that it started."""

    target_url: str
    processes: dict[str, int]
    facts: dict[str, str]
    recordings: dict[str, str]
    exception_logs: list[str]


class Shared(NamedTuple):
    """The shared KillBill. It was started with a failing gateway, which its first three payments met.

    `statuses` are of those; the first `log_bytes` of its log have all that it wrote about them. `payment` came after.
    """

    instance: Instance
    started: Started
    logs: Path
    stack: ExitStack
    statuses: list[int]
    log_bytes: int
    payment: str


# As another user the interpreter's own files may be out of reach: what Python imports late is imported before.
WITHOUT_ROOT = """
import encodings.idna, encodings.unicode_escape, json, os, sys
from pathlib import Path
from harness.base.guardian import Guardian
from harness.system.supervisor import Supervisor
from harness.system.manifest import load_manifest

root, build, logs, user = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
manifest, ports = load_manifest(root), json.loads(sys.argv[6])
settings = manifest.resolve_settings(json.loads(sys.argv[5]))
with Guardian() as guardian:
    guardian.environment  # starts its process, which the other user may not be able to start
    if user != os.geteuid():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    with Supervisor(
        manifest, settings, build_dir=build, log_dir=logs, fixed_ports=ports, guardian=guardian
    ) as system:
        system.start()
        recordings = {name: str(path) for name, path in system.recordings.items()}
        started = (system.target_url, dict(system.processes), dict(system.facts), recordings, system.exception_logs)
        print(json.dumps(started), flush=True)
        sys.stdin.read()
"""


@contextmanager
def started_without_root(settings: dict[str, Any], folder: Path, ports: dict[str, int]) -> Iterator[Started]:
    """Start a KillBill by a process without the rights of root, and stop it; its logs are in `folder`/logs.

    What is prepared, and the manifest's folder, are copied to `folder`, where that user can read them.
    """
    user = os.geteuid() or NOBODY
    resolved = MANIFEST.resolve_settings(settings)
    with Supervisor(MANIFEST, resolved, build_dir=BUILD, log_dir=folder / "prepare") as supervisor:
        supervisor.prepare()
    shutil.copytree(BUILD / "systems" / "killbill", folder / "systems" / "killbill", symlinks=True)
    shutil.copytree(MANIFEST.folder, folder / "killbill")
    (folder / "logs").mkdir()
    if user != os.geteuid():
        subprocess.run(["chown", "-R", f"{user}:{user}", str(folder)], check=True)
    argv = [sys.executable, "-c", WITHOUT_ROOT, folder / "killbill", folder, folder / "logs", user]
    argv += [json.dumps(settings), json.dumps(ports)]
    # A start is most of what a test needs of a KillBill: code that is compiled well does not pay.
    process = subprocess.Popen(
        [str(argument) for argument in argv],
        cwd=ROOT, env={**os.environ, **QUICK_JAVA}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout
    try:
        text = process.stdout.readline()
        assert text, "KillBill did not start; the reason is on standard error"
        yield Started(*json.loads(text))
    finally:
        process.communicate(timeout=60)
    assert process.returncode == 0
