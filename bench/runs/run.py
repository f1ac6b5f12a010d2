"""`scripts/bench run`: measures the start of a run, cold and warm, and the CPU of the harness."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.tables import seconds_text
from harness.base.errors import EXIT_OK, StartError
from harness.base.project import SHIPPED
from harness.base.units import MS_PER_S, percent_text
from harness.jtl.sample import Dropped
from harness.metrics.files import read_samples
from harness.report.tables import table
from harness.run.jmeter.interim import LOAD_LEAST_S
from harness.run.telemetry.processes import HARNESS
from harness.system.jcmd import is_jvm

_CPU_RUN = ("--users", "50", "--duration", "60")
_SHORT_RUN = ("--users", "2", "--ramp", "0", "--duration", "5")


@dataclass(frozen=True)
class Timing:
    """Seconds after the start of the command; `ready_s` is None with a target."""

    ready_s: float | None
    first_sample_s: float
    harness_cores: float


@dataclass(frozen=True)
class _FreshClone:
    """Seconds after the start of `make run` in a fresh clone."""

    ready_s: float
    interim_table_s: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--plan", default="killbill-stripe", help="the plan to run (killbill-stripe)")
    parser.add_argument("--repeat", type=int, default=3, help="runs per figure (3)")
    parser.add_argument("--cold", action="store_true", help="also from a fresh clone with empty caches (minutes)")


def bench(options: argparse.Namespace) -> int:
    """Print the figures as a Markdown table; return 0. StartError when a run fails."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        rows.append(["set-up when all is built", _figures([_set_up_s() for _ in range(options.repeat)]), "< 1"])
        command = [sys.executable, str(SHIPPED / "scripts" / "run"), "--plan", options.plan]
        if options.cold:
            cold = _run_in_fresh_clone(folder, options.plan, with_caches=False)
            rows.append(["fresh clone, empty caches: to ready", _figures([cold.ready_s]), "≤ 80"])
            rows.append(["fresh clone, empty caches: to the interim table", _figures([cold.interim_table_s]), "≤ 110"])
            cached = _run_in_fresh_clone(folder, options.plan, with_caches=True)
            rows.append(["fresh clone, warm caches: to the interim table", _figures([cached.interim_table_s]), "≤ 75"])
        warm = [_time_run([*command, *_SHORT_RUN], folder / "reports", options.plan) for _ in range(options.repeat)]
        rows.append(["warm: to ready", _figures([run.ready_s for run in warm if run.ready_s is not None]), "≤ 25"])
        rows.append(["warm: to the first sample", _figures([run.first_sample_s for run in warm]), "≤ 25"])
        with StartedSystem(options.plan, folder) as target:
            with_target = [
                _time_run([*command, *_SHORT_RUN, "--target", target], folder / "reports", options.plan)
                for _ in range(options.repeat)
            ]
            rows.append(
                ["with TARGET: to the first sample", _figures([run.first_sample_s for run in with_target]), "≤ 4"]
            )
            busy = _time_run([*command, *_CPU_RUN, "--target", target], folder / "reports", options.plan)
        rows.append(["the harness's own CPU, % of one core", percent_text(busy.harness_cores), "≤ 3"])
    print(table(("seconds of a whole command", "median (range)", "aim"), rows))
    return EXIT_OK


def _time_run(command: Sequence[str], reports: Path, plan: str) -> Timing:
    """Return the timing of one run: ready by the harness's message, the first sample by its time stamp."""
    start_s = time.time()
    ready_s = _seconds_until([": ready after"], [*command, "--reports", str(reports)])[0]
    run = max((reports / plan).glob("run-*_*/run.json"), key=lambda path: path.stat().st_mtime).parent
    first_ms = min(sample.start_ms for sample in read_samples(run / "samples.jtl", Dropped()))
    observed = json.loads(run.with_name(f"{run.name}.json").read_text(encoding="utf-8"))["observed"]
    cores = next((usage["cpu_cores_mean"] for usage in observed["usages"] if usage["process"] == HARNESS), 0.0)
    return Timing(ready_s, first_ms / MS_PER_S - start_s, cores)


def _seconds_until(
    texts: Sequence[str],
    command: Sequence[str],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> list[float | None]:
    """Run the command; return the seconds until it prints each text, None for a text that it does not print."""
    start_s = time.monotonic()
    found: dict[str, float] = {}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout or ():
                for text in texts:
                    if text in line:
                        found.setdefault(text, time.monotonic() - start_s)
        except KeyboardInterrupt:
            process.terminate()  # the terminal sends Ctrl-C to the child, too, but TERM and HUP reach only this process
            raise
    if process.returncode:
        raise StartError(f"{' '.join(command)} ended with code {process.returncode}", "see its output")
    return [found.get(text) for text in texts]


def _set_up_s() -> float:
    """Return the seconds of a `make setup` when everything is installed."""
    start_s = time.monotonic()
    subprocess.run(["make", "-C", str(SHIPPED), "setup"], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start_s


def _run_in_fresh_clone(folder: Path, plan: str, *, with_caches: bool) -> _FreshClone:
    """Return how long `make run` takes in a fresh clone.

    Without caches, pip and Maven download everything.
    """
    clone, home = folder / "clone", folder / "home"
    home.mkdir()
    subprocess.run(["git", "clone", "--quiet", str(SHIPPED), str(clone)], check=True)
    repository = f"-Dmaven.repo.local={home / 'repository'}"
    empty = {"HOME": str(home), "PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1", "MAVEN_OPTS": repository}
    environment = {**os.environ, **({} if with_caches else empty)}
    command = ["make", "run", f"PLAN={plan}", "USERS=5", f"DURATION={LOAD_LEAST_S:.0f}"]
    ready_s, table_s = _seconds_until([": ready after", "Interim results after"], command, clone, environment)
    if ready_s is None or table_s is None:
        raise StartError("make run in a fresh clone printed no interim table", "see its output")
    shutil.rmtree(clone)
    shutil.rmtree(home)
    return _FreshClone(ready_s, table_s)


class StartedSystem:
    """Starts the plan's system and returns its address; stops it at the end of the block.

    With a profile it is that of the project in `folder`.
    """

    def __init__(self, plan: str, folder: Path, profile: str = "") -> None:
        command = [
            sys.executable,
            str(SHIPPED / "scripts" / "system"),
            "--plan",
            plan,
            "--logs",
            str(folder / "logs"),
            *(("--env", profile) if profile else ()),
        ]
        home = folder if profile else None
        self._process = subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> str:
        try:
            for line in self._process.stdout or ():
                if " listens at " in line:
                    return line.split(" listens at ")[1].split(";")[0]
        except KeyboardInterrupt:
            self.__exit__()
            raise
        raise StartError("the system did not start", "see its output")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def jvms(self) -> dict[str, int]:
        """Return a name and the pid of each JVM of the system."""
        pids = [child.pid for child in psutil.Process(self._process.pid).children(recursive=True) if is_jvm(child.pid)]
        return {f"jvm-{number}": pid for number, pid in enumerate(pids, 1)}


def _figures(values_s: Sequence[float]) -> str:
    return seconds_text(values_s, decimals=1)
