"""`scripts/bench live`: measures the CPU time that a live page costs the harness, by samples per second."""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench.results import Aim
from bench.tables import print_aims
from harness.base.units import parse_whole_number, percent_text
from harness.live.state import LiveState
from harness.metrics.live import LiveTally
from harness.plan.goal import Goal
from harness.report.tables import table
from harness.run.jmeter.progress import JtlTail

_HEAD = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,"
    "grpThreads,allThreads,Latency,Connect\n"
)
_RATES = (100, 500, 1_000, 2_000, 5_000)
# The aim: this share of a core at this rate, which is more than most systems under test answer on one machine.
_AIM_RATE, _AIM_RATIO = 5_000, 0.03
_LABELS, _USERS, _SEED = 20, 200, 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--seconds", default="30", metavar="N", help="simulated seconds per rate (30)")


def bench(options: argparse.Namespace) -> int:
    """Print the table; return 0, or 1 when the aim is missed."""
    seconds = parse_whole_number(options.seconds, "--seconds", 5, 600)
    rows, measured = [], 0.0
    for rate in _RATES:
        shares = _shares(rate, seconds)
        if rate == _AIM_RATE:
            measured = shares.page + shares.tables - shares.without
        rows.append([str(rate), *(percent_text(share) for share in shares)])
    heads = ("samples/s", "without a page", "with a page", "tables for viewers")
    print(f"**CPU time of the harness for reading samples, % of one core, {seconds} s per row**\n")
    print(table(heads, rows), end="\n\n", flush=True)
    wanted = f"at most {percent_text(_AIM_RATIO, 0)} % of a core"
    what = f"a live page with viewers at {_AIM_RATE:,} samples/s"
    aim = Aim(what, f"{percent_text(measured)} %", wanted, measured <= _AIM_RATIO)
    return print_aims([aim], "the live page")


class _Shares(NamedTuple):
    """Shares of a core: progress alone, reading and counting for a page, and the tables of its viewers."""

    without: float
    page: float
    tables: float


def _shares(rate: int, seconds: int) -> _Shares:
    """Return the shares of a core that samples at a rate (per s) cost."""
    source = random.Random(_SEED)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.jtl"
        path.write_text(_HEAD, encoding="utf-8")
        plain, whole = JtlTail(path), JtlTail(path, is_whole=True)
        progress, other_progress, state = LiveTally(), LiveTally(), LiveState(Goal(), None)
        used_s = [0.0, 0.0, 0.0]
        for second in range(seconds):
            with path.open("a", encoding="utf-8") as out:
                out.writelines(_row(source, second, number, rate) for number in range(rate))
            began_s = time.process_time()
            rows = plain.new_rows()
            progress.tick(float(second), rows.samples, rows.row_count)
            read_s = time.process_time()
            rows = whole.new_rows()
            other_progress.tick(float(second), rows.samples, rows.row_count)
            state.add(rows.samples, float(second))
            counted_s = time.process_time()
            state.now()
            for index, passed_s in enumerate((read_s - began_s, counted_s - read_s, time.process_time() - counted_s)):
                used_s[index] += passed_s
    return _Shares(*(used / seconds for used in used_s))


def _row(source: random.Random, second: int, number: int, rate: int) -> str:
    start_ms = 1_700_000_000_000 + 1000 * second + 1000 * number // rate
    label, user = number % _LABELS, number % _USERS
    return (
        f"{start_ms},{source.randint(5, 300)},Request {label},200,OK,Users 1-{user},true,,1234,200,{_USERS},{_USERS},"
        "200,1\n"
    )
