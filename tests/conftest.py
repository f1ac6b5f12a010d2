"""Fixtures shared by the tests: a home with one tiny plan, and scripts/run as a user calls it."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import entry
from harness.report import warnings as caveats
from harness.report.verdict import DOUBTFUL, VALID
from harness.report.warnings import DOUBTS
from harness.run.other_runs import FOLDER_VARIABLE

ROOT = Path(__file__).resolve().parent.parent
FAKE_JMETER = ROOT / "tests" / "support" / "fakes" / "jmeter"
# The suite of the nightly stands beside the profiles.
PROFILES = sorted(path for path in (ROOT / "env").glob("*.toml") if path.stem != "nightly")

TINY_JMX = """<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3">
  <hashTree>
    <TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Tiny"/>
    <hashTree>
      <ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="Users">
        <stringProp name="ThreadGroup.num_threads">${__P(users,1)}</stringProp>
        <stringProp name="ThreadGroup.ramp_time">${__P(ramp_s,0)}</stringProp>
        <stringProp name="ThreadGroup.duration">${__P(duration_s,2)}</stringProp>
        <boolProp name="ThreadGroup.scheduler">true</boolProp>
      </ThreadGroup>
      <hashTree/>
    </hashTree>
  </hashTree>
</jmeterTestPlan>
"""
TINY_PLAN = """format_version = 1
title = "A tiny plan"
shape = "tiny.jmx"
system = "tiny"
[load]
users = 2
ramp_per_user_s = 0.0
duration_s = 2
[goal]
p90_ms = 1000
error_ratio = 0.01
"""
TINY_PROFILE = """format_version = 1
title = "Test machine"
[generator]
overrun_s = 1
[reports]
min_free_mb = 1
"""
TINY_SYSTEM = """format_version = 1
title = "A file server"
target = "http://127.0.0.1:{{ ports.http }}"
[ports]
http = 0
[[process]]
name = "web"
command = ["{{ settings.python }}", "-m", "http.server", "{{ ports.http }}", "--bind", "127.0.0.1"]
ready = { url = "http://127.0.0.1:{{ ports.http }}/", deadline_s = 20 }
[settings]
python = "python3"
"""


# What a run of some seconds may be DOUBTFUL for, on a machine that other tests share.
DOUBTS_OF_SHORT_RUNS = frozenset(
    DOUBTS[code]
    for code in (caveats.NOT_STEADY, caveats.TOO_FEW_SAMPLES, caveats.OTHER_CPU, caveats.GENERATOR_CPU, caveats.STALL)
)


def check_short_run(verdict: Mapping[str, Any]) -> None:
    """Fail unless the verdict of a run's JSON is VALID, or DOUBTFUL for no more than being short on a busy machine."""
    assert verdict["state"] in (VALID, DOUBTFUL), verdict
    assert set(verdict["reasons"]) <= DOUBTS_OF_SHORT_RUNS


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with the tiny plan, profile and system."""
    for name, text in (
        ("plans/tiny.jmx", TINY_JMX),
        ("plans/tiny.toml", TINY_PLAN),
        ("env/local.toml", TINY_PROFILE),
        ("systems/tiny/system.toml", TINY_SYSTEM),
    ):
        path = tmp_path / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "home"


@pytest.fixture(autouse=True, scope="session")
def _no_other_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give each worker a folder of runs of its own: the runs of other tests go on at the same time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER_VARIABLE, str(tmp_path_factory.mktemp("runs") / "runs"))
        yield


Start = Callable[..., "subprocess.Popen[str]"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def arguments_of_run(home: Path, tmp_path: Path, arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a run of the tiny plan."""
    places = ["--home", str(home), "--reports", str(tmp_path / "reports"), "--build", str(tmp_path / "build")]
    return ["--plan", "tiny", *places, *arguments]


@pytest.fixture
def start_run(home: Path, tmp_path: Path) -> Start:
    """Start scripts/run with the fake JMeter on the tiny plan; output is captured as text."""

    def start(*arguments: str, mode: str = "works", **environment: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(ROOT / "scripts" / "run"), *arguments_of_run(home, tmp_path, arguments)]
        variables = {**os.environ, "JMETER_HOME": str(FAKE_JMETER), "FAKE_JMETER": mode, **environment}
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables, start_new_session=True
        )

    return start


@pytest.fixture
def run(start_run: Start) -> Run:
    """Run scripts/run to its end."""

    def to_the_end(*arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
        process = start_run(*arguments, **options)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    return to_the_end


@pytest.fixture
def refused(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Return what scripts/run writes to stderr when it ends with code 2, as part of this process: that is quick."""

    def stderr_of(*arguments: str, **environment: str) -> str:
        for name, value in ({"JMETER_HOME": str(FAKE_JMETER)} | environment).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["scripts/run", *arguments_of_run(home, tmp_path, arguments)])
        with pytest.raises(SystemExit) as ended:
            entry.start("scripts/run")
        assert ended.value.code == 2
        assert not list((tmp_path / "reports").rglob("run-*"))
        return capsys.readouterr().err

    return stderr_of


def start_front_door(
    script: str, arguments: Sequence[str], tmp_path: Path, mode: str, environment: Mapping[str, str]
) -> subprocess.Popen[str]:
    """Start a front door with the fake JMeter and a TMPDIR of its own; both streams come as one text."""
    (tmp_path / "tmp").mkdir(exist_ok=True)
    variables = {"JMETER_HOME": str(FAKE_JMETER), "FAKE_JMETER": mode, "TMPDIR": str(tmp_path / "tmp")}
    return subprocess.Popen(
        [sys.executable, str(ROOT / "scripts" / script), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **variables, **environment},
        start_new_session=True,
    )


@pytest.fixture
def finished(start: Start) -> Callable[..., tuple[int, str]]:
    """Run what a module's `start` starts to its end; return its exit code and its output."""

    def to_the_end(*arguments: str, **options: str) -> tuple[int, str]:
        process = start(*arguments, **options)
        out, _ = process.communicate(timeout=120)
        return process.returncode, out

    return to_the_end


@pytest.fixture
def target() -> Iterator[str]:
    """The address of an HTTP server that is not ours to start."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
