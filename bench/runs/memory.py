"""`scripts/bench memory`: the heap and the resident memory that JMeter needs for each user of a plan."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.base import units
from harness.base.errors import EXIT_OK, StartError
from harness.base.log import stderr_log
from harness.base.project import SHIPPED
from harness.jtl.sample import SAMPLES_NAME
from harness.plan.load.memory import user_kb
from harness.plan.plan import load_plan
from harness.report.tables import table
from harness.run.directory import PLAN_NAME
from harness.system.histograms import printed_classes

_log = stderr_log("bench: ")

_PLANS = "lb-direct,folio-workflow,thruzero,killbill-stripe"
_HEAP_MB = 4096
_WAIT_S = 600.0
_SETTLE_S = 5.0
_STOP_S = 120.0
_TAIL_BYTES = 4096


@dataclass(frozen=True)
class Memory:
    """The live heap and the resident memory of a JMeter with so many users."""

    users: int
    heap_kb: int
    rss_kb: int


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--plans", default=_PLANS, help=f"plans, separated by commas ({_PLANS})")
    parser.add_argument("--users", default="50,550", help="users, separated by commas, two numbers at least (50,550)")


def bench(options: argparse.Namespace) -> int:
    """Print a Markdown table: a row per plan and number of users. StartError when a run does not reach its users."""
    numbers = [int(text) for text in options.users.split(",")]
    rows: list[Sequence[str]] = []
    for plan in options.plans.split(","):
        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            memories = [_memory(plan, users, Path(name)) for users in numbers]
        jmx = load_plan(SHIPPED / "plans", plan).jmx_path
        first, last = memories[0], memories[-1]
        each_kb = (last.heap_kb - first.heap_kb) / (last.users - first.users)
        for one in memories:
            _log(f"{plan}, {one.users} users: heap {one.heap_kb} KB, resident {one.rss_kb} KB")
            mb = [f"{kb * units.BYTES_PER_KB / units.BYTES_PER_MB:.0f}" for kb in (one.heap_kb, one.rss_kb)]
            rows.append([plan, f"{one.users:,}", *mb, f"{each_kb:.0f}", f"{user_kb(jmx, None):.0f}"])
    titles = ("plan", "users", "heap in use, MB", "resident, MB", "heap per user, KB", "estimate, KB")
    print(table(titles, rows))
    return EXIT_OK


def _memory(plan: str, users: int, home: Path) -> Memory:
    """Run the plan until all users are active, and return what is in memory after a collection."""
    (home / "env").mkdir(exist_ok=True)
    heap = f"[generator]\nheap_mb = {_HEAP_MB}\n"
    (home / "env" / "local.toml").write_text(f'format_version = 1\ntitle = "Memory"\n{heap}')
    command = [sys.executable, str(SHIPPED / "scripts" / "lth"), "run", plan, f"--users={users}", "--duration=30m"]
    more = [f"--home={home}", f"--reports={home / 'reports'}", "--ramp=5s", "--stop=none"]
    process = subprocess.Popen([*command, *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        jmeter = _jmeter_of(process, users, home)
        time.sleep(_SETTLE_S)
        _jcmd(jmeter.pid, "GC.run")  # leaves what finalizers hold
        # The live objects of one moment; what heap_info says also has the garbage since the collection.
        classes = printed_classes(_jcmd(jmeter.pid, "GC.class_histogram").splitlines())
        heap_kb = sum(one.size_bytes for one in classes.values()) // units.BYTES_PER_KB
        return Memory(users, heap_kb, jmeter.memory_info().rss // units.BYTES_PER_KB)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=_STOP_S)


def _jmeter_of(process: subprocess.Popen[str], users: int, home: Path) -> psutil.Process:
    """Return the JMeter of a run as soon as all users have sent requests: its rows know how many are there."""
    until_s = time.monotonic() + _WAIT_S
    while time.monotonic() < until_s:
        if process.poll() is not None:
            raise StartError(f"the run ended: {(process.stderr.read() if process.stderr else '').strip()}", "see above")
        for child in _jmeters(process.pid):
            if users_there(home) >= users:
                return child
        time.sleep(0.5)
    raise StartError(f"{users} users were not active after {_WAIT_S:.0f} s", "drive fewer")


def users_there(home: Path) -> int:
    """Return the users that the last whole row of the newest run has; 0 before there is one."""
    newest = max(home.glob("reports/*/*/" + SAMPLES_NAME), key=lambda path: path.stat().st_mtime_ns, default=None)
    if newest is None:
        return 0
    with newest.open("rb") as file:
        columns = file.readline().decode().strip().split(",")
        file.seek(max(file.tell(), newest.stat().st_size - _TAIL_BYTES))
        rows = [line.split(b",") for line in file.read().split(b"\n")[:-1]]
    # no text of a row of these plans has a comma
    whole = [row for row in rows if len(row) == len(columns)]
    return int(whole[-1][columns.index("allThreads")]) if whole else 0


def _jmeters(pid: int) -> Iterator[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if PLAN_NAME in child.cmdline():
                    yield child


def _jcmd(pid: int, word: str) -> str:
    return subprocess.run(["jcmd", str(pid), word], capture_output=True, text=True, check=True).stdout
