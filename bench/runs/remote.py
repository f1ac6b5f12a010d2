"""`scripts/bench generators`: compares one and two load generators on one machine: rates and lost samples."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.runs.run import StartedSystem
from harness.base.errors import EXIT_OK, EXIT_REGRESSED, StartError
from harness.base.ports import LOOPBACK, free_port
from harness.base.project import SHIPPED
from harness.base.units import rate_text
from harness.compare.sources import read_result
from harness.report.run_result import RunResult
from harness.report.tables import table

_PLAN = "lb-direct"
_SCRIPTS = SHIPPED / "scripts"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--users", type=int, default=50, help="users of each run in total (50)")
    parser.add_argument("--loops", type=int, default=2000, help="requests of each user (2000)")


def bench(options: argparse.Namespace) -> int:
    """Print a Markdown table, one row per number of load generators; return 1 when a sample is lost.

    StartError when a run fails.
    """
    wanted = options.users * options.loops
    rows, lost_count = [], 0
    with tempfile.TemporaryDirectory(prefix="bench-") as name, ExitStack() as stack:
        folder = Path(name)
        target = stack.enter_context(StartedSystem(_PLAN, folder))
        generators = [stack.enter_context(_generator(folder / "keys")) for _ in range(2)]
        for count in range(3):
            result = _run(options, folder / "reports", target, generators[:count], folder / "keys")
            whole = result.whole or result.total
            found = whole.sample_count or 0 if whole else 0
            lost_count += abs(wanted - found)
            rate = rate_text(result.total.rate_per_s if result.total else None)
            rows.append([str(count or "none: JMeter alone"), str(wanted), str(found), str(wanted - found), rate])
    print(table(("generators", "requested samples", "in the JTL", "lost (aim: 0)", "req/s"), rows))
    return EXIT_REGRESSED if lost_count else EXIT_OK


def _run(options: argparse.Namespace, reports: Path, target: str, generators: list[str], keys: Path) -> RunResult:
    command = [sys.executable, str(_SCRIPTS / "run"), "--plan", _PLAN, "--target", target, "--reports", str(reports)]
    command += ["--users", str(options.users), "--loops", str(options.loops), "--keys", str(keys)]
    command += ["--remotes", ",".join(generators)] if generators else []
    code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    if code not in (EXIT_OK, EXIT_REGRESSED):
        raise StartError(f"{' '.join(command)} ended with code {code}", "see its output")
    newest = max((reports / _PLAN).glob("run-*.json"), key=lambda path: path.stat().st_mtime)
    return read_result(newest)


@contextmanager
def _generator(keys: Path) -> Iterator[str]:
    """Yield the address of a load generator on this machine; it is stopped at the end."""
    port = free_port()
    command = [sys.executable, str(_SCRIPTS / "generator"), "--port", str(port), "--keys", str(keys)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if not any(" listens at " in line for line in process.stdout or ()):
                raise StartError("a load generator did not start", "see its output")
            yield f"{LOOPBACK}:{port}"
        finally:
            process.terminate()
