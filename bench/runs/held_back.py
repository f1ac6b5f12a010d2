"""`scripts/bench held-back`: holds a real system back half-way through a run, and prints what the report finds.

The system runs only a share of each tenth of a second, like a process whose CPU quota is used up. A second run, in
which nothing is done to it, shows whether the report is silent then.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import psutil

from bench.results import Aim
from bench.tables import print_aims
from harness.base.errors import EXIT_OK, EXIT_REGRESSED, StartError
from harness.base.log import stderr_log
from harness.base.ports import free_port
from harness.base.project import SHIPPED
from harness.base.units import clock_text, parse_whole_number, percent_text
from harness.judge.warnings import throttled
from harness.plan.jmx.tree import LOAD_GROUP
from harness.report.tables import table

# Without think time: a pause of the users hides that the system is slower.
_PLAN, _ENV = "lb-direct", "lb"
# Each answer takes 10 ms, whatever else the machine does; the load takes a fraction of a core.
_SETTINGS = "delay_ms=10 warm_up_users=10 warm_up_requests=5000"
_PERIOD_S = 0.1
_NEAR_S = 5.0
_POLL_S = 0.05
_TAIL_BYTES = 4096
_log = stderr_log("bench: ")


class MedianRates(NamedTuple):
    """The median samples per second of the two parts of a run."""

    before_per_s: float
    after_per_s: float


@dataclass(frozen=True)
class HeldBackRun:
    """A run whose system was held back `held_s` seconds after the load began (None: not at all), and its summary."""

    held_s: float | None
    summary: dict[str, Any]

    @property
    def medians(self) -> MedianRates:
        """The medians before and after that moment; without one, of both halves of the run."""
        series = self.summary["timeline"]
        rates = [count / series["bucket_s"] for count in series["sample_count"]]
        middle = len(rates) // 2 if self.held_s is None else round(self.held_s / series["bucket_s"])
        return MedianRates(median(rates[:middle]), median(rates[middle:]))

    @property
    def fall(self) -> dict[str, Any] | None:
        """The fall of the throughput that the report names."""
        found: dict[str, Any] | None = self.summary["throttle"]
        return found

    @property
    def warning(self) -> str:
        """The report's warning about it; empty without one."""
        texts = (one["text"] for one in self.summary["caveats"] if one["code"] == str(throttled.WARNING.code))
        return next(texts, "")

    @property
    def is_near(self) -> bool:
        """Whether the fall was found at the time at which the system was held back."""
        return self.fall is not None and self.held_s is not None and abs(self.fall["at_s"] - self.held_s) <= _NEAR_S


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--duration", default="90", metavar="S", help="seconds of each of the two runs (90)")
    parser.add_argument("--users", default="10", metavar="N", help="users of the load (10)")
    parser.add_argument("--percent", default="20", metavar="P", help="share of the time in which the system runs (20)")


def bench(options: argparse.Namespace) -> int:
    """Print what was planted and what the reports found; return 0, or 1 when an aim is missed."""
    duration_s = parse_whole_number(options.duration, "--duration", 60, 3600)
    users = parse_whole_number(options.users, "--users", 1, 1000)
    percent = parse_whole_number(options.percent, "--percent", 1, 60)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        _log(f"{duration_s} s of load; after half of it the system runs {percent} % of the time")
        held = _run(Path(name) / "held", users, duration_s, percent / 100)
        _log(f"{duration_s} s of load, with nothing done to the system")
        free = _run(Path(name) / "free", users, duration_s, None)
    heads = ("held back at", "to % of the time", "median req/s", "found at", "found req/s", "% of the rate")
    print(table(heads, [_row(held, f"{percent}"), _row(free, "100")]))
    print(f"\n> {held.warning or 'no warning'}\n")
    aims = [
        Aim(f"held back: found within {_NEAR_S:g} s", "yes" if held.is_near else "no", "yes", held.is_near),
        Aim("not held back: a fall is found", "yes" if free.fall else "no", "no", free.fall is None),
    ]
    return print_aims(aims, "a system that is held back")


def _row(run: HeldBackRun, percent: str) -> list[str]:
    held_at = "" if run.held_s is None else clock_text(round(run.held_s))
    measured = f"{run.medians.before_per_s:.0f} → {run.medians.after_per_s:.0f}"
    if run.fall is None:
        return [held_at, percent, measured, "not found", "", ""]
    before, after = run.fall["before_per_s"], run.fall["after_per_s"]
    at, ratio = clock_text(run.fall["at_s"]), percent_text(after / before, 0)
    return [held_at, percent, measured, at, f"{before:.0f} → {after:.0f}", ratio]


def _run(folder: Path, users: int, duration_s: int, share: float | None) -> HeldBackRun:
    """Run the load, and hold the system back from its middle on; StartError when the run fails."""
    port = free_port()
    command = [sys.executable, str(SHIPPED / "scripts" / "run"), "--plan", _PLAN, "--env", _ENV]
    command += ["--port", str(port), "--set", _SETTINGS, "--users", str(users)]
    command += ["--ramp", "1", "--duration", str(duration_s)]
    command += ["--reports", str(folder), "--compare", "0"]
    path, held_at_s = folder / _PLAN / "run-01_1", None
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
        try:
            _wait_for_load(run, path / "samples.jtl")
            time.sleep(duration_s / 2)
            if share is not None:
                held_at_s = time.time()
                with _held_back(_listener(port), share):
                    run.wait()
        except BaseException:  # also for Ctrl-C: the run ends its system itself
            run.send_signal(signal.SIGINT)
            raise
    if run.returncode not in (EXIT_OK, EXIT_REGRESSED):
        raise StartError(f"{' '.join(command)} ended with code {run.returncode}", "see its output")
    summary = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return HeldBackRun(None if held_at_s is None else held_at_s - summary["origin_s"], summary)


def _wait_for_load(run: subprocess.Popen[bytes], jtl: Path) -> None:
    """Wait until a user of the load has written a row; those of a warm-up in setUp come before."""
    while not _has_load(jtl):
        if run.poll() is not None:
            raise StartError(f"scripts/run ended with code {run.returncode} before its load", "see its output")
        time.sleep(_POLL_S)


def _has_load(jtl: Path) -> bool:
    if not jtl.is_file():
        return False
    with jtl.open("rb") as lines:
        lines.seek(max(0, jtl.stat().st_size - _TAIL_BYTES))
        return f",{LOAD_GROUP} ".encode() in lines.read()


def _listener(port: int) -> int:
    """Return the process that listens on a port of this machine."""
    for connection in psutil.net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.pid:
            return int(connection.pid)
    raise StartError(f"no process of yours listens on port {port}", "run it as the user that starts the system")


@contextmanager
def _held_back(process: int, share: float) -> Iterator[None]:
    """Let a process run only a share of each tenth of a second, within the block."""
    ended = threading.Event()

    def alternate() -> None:
        with suppress(ProcessLookupError):  # the run is over
            while not ended.is_set():
                os.kill(process, signal.SIGSTOP)
                ended.wait((1 - share) * _PERIOD_S)
                os.kill(process, signal.SIGCONT)
                ended.wait(share * _PERIOD_S)

    thread = threading.Thread(target=alternate, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)
