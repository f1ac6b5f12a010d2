"""`scripts/bench aggregate`: compares our reader with alternative readers on generated files."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import psutil

from bench.measure import ERR_NAME, OUT_NAME, measure
from bench.readers import file as bench_file
from bench.readers.contenders import CONTENDERS, IN_BENCH_VENV, JMETER, OURS, Contender, Tools
from bench.readers.file import BenchFile
from bench.results import SMALL_ROWS, Pass, Result, aims, wrong
from bench.tables import print_aims, results_table
from harness.base.errors import UsageError
from harness.base.guardian import Guardian
from harness.base.install import toolchain
from harness.base.install.python_packages import ensure_bench_venv
from harness.base.log import stderr_log
from harness.base.once import lock
from harness.base.project import BUILD, SHIPPED
from harness.base.units import mb_text, parse_whole_number, percent_text
from harness.run.jmeter.process import JMeterHome

_log = stderr_log("bench: ")

SEED = 1
_ROWS_MOST = 100_000_000
_SMALL_REPEAT = 7
# The machine is not quiet when other processes use more than this share of its CPU.
_QUIET_RATIO = 0.05
_CPU_SAMPLE_S = 1.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--rows", default="1000000,10000000", metavar="N,…", help="sizes (1000000,10000000)")
    parser.add_argument("--repeat", default="5", metavar="N", help="timed passes of each reader (5)")
    names = ",".join(one.name for one in CONTENDERS if one.name != OURS)
    parser.add_argument("--without", default="", metavar="NAME,…", help=f"readers to leave out: {names}")


def bench(options: argparse.Namespace) -> int:
    """Print a table per file and the aims; return 0, or 1 when an aim is missed."""
    sizes = [parse_whole_number(text, "--rows", 1, _ROWS_MOST) for text in options.rows.split(",")]
    repeat = parse_whole_number(options.repeat, "--repeat", 1, 100)
    chosen = _chosen([name for name in options.without.split(",") if name])
    ours = [one for one in chosen if one.name == OURS]
    results: list[Result] = []
    with lock(BUILD / "bench.lock", "the bench", _log):
        tools = tools_of(chosen)
        print_if_busy()
        for row_count in dict.fromkeys((SMALL_ROWS, *sizes)):
            file = bench_file.ensure(BUILD / "bench", SEED, row_count, _log)
            contenders = chosen if row_count in sizes else ours
            found = side_by_side(contenders, tools, file, _SMALL_REPEAT if row_count == SMALL_ROWS else repeat)
            print(f"**{row_count:,} rows, {mb_text(file.size_bytes)} MB**\n\n{results_table(found)}\n", flush=True)
            results += found
    judged = aims(results)
    return print_aims(judged)


def print_if_busy() -> None:
    """Print a line when other processes use the machine."""
    busy_ratio = psutil.cpu_percent(_CPU_SAMPLE_S) / 100
    if busy_ratio > _QUIET_RATIO:
        print(f"Not a quiet machine: other processes used {percent_text(busy_ratio, 0)} % of its CPU.\n")


def _chosen(without: Sequence[str]) -> list[Contender]:
    names = [one.name for one in CONTENDERS if one.name != OURS]
    for name in without:
        if name not in names:
            raise UsageError(f"--without {name}: no such reader", f"there are {', '.join(names)}")
    return [one for one in CONTENDERS if one.name not in without]


def tools_of(chosen: Sequence[Contender]) -> Tools:
    """Return the programs of the chosen readers, built if necessary."""
    names = {one.name for one in chosen}
    python = Path(sys.executable)
    bench_python = ensure_bench_venv() if names & IN_BENCH_VENV else python
    jmeter_home = toolchain.ensure_jmeter() if JMETER in names else BUILD
    jmeter_version = JMeterHome(jmeter_home, java="").versions()["jmeter"]
    return Tools(SHIPPED, python, bench_python, jmeter_home, jmeter_version)


def side_by_side(contenders: Sequence[Contender], tools: Tools, file: BenchFile, repeat: int) -> list[Result]:
    """Return the results of the readers of one file, in order; see `interleaved`."""
    fit = [one for one in contenders if one.most_rows is None or file.row_count <= one.most_rows]
    return interleaved([Case(one, file) for one in fit], tools, repeat)


class Case(NamedTuple):
    """A reader, and the file that it reads."""

    contender: Contender
    file: BenchFile


def interleaved(cases: Sequence[Case], tools: Tools, repeat: int) -> list[Result]:
    """Return the results of the cases, in order.

    Each case starts with a pass for warm-up and memory that is not timed. The timed passes alternate between all cases,
    so that noise affects all alike, and each round starts with another one. All results are checked.
    """
    results = [Result(contender, file.row_count, (), None) for contender, file in cases]
    numbers = range(len(cases))
    with Guardian() as guardian, tempfile.TemporaryDirectory(prefix="bench-") as folder:
        guardian.remove_at_end(Path(folder))
        for round_number in range(repeat + 1):
            first = round_number % len(cases)
            for number in (*numbers[first:], *numbers[:first]):
                if not results[number].problem:
                    file, is_first = cases[number].file, round_number == 0
                    results[number] = _pass(results[number], tools, file, Path(folder), guardian, is_first=is_first)
    return results


def _pass(before: Result, tools: Tools, file: BenchFile, folder: Path, guardian: Guardian, *, is_first: bool) -> Result:
    """Return the result with one more pass."""
    contender = before.contender
    work = folder / contender.name
    work.mkdir()
    what = "warm-up and memory" if is_first else f"pass {len(before.passes) + 1}"
    _log(f"{file.row_count:,} rows, {contender.title}, {what}")
    command = contender.command(tools, file.path, work)
    measured = measure(command, work, guardian.environment, watch_memory=is_first)
    version, problem = before.version, ""
    if measured.exit_code:
        last = (work / ERR_NAME).read_text(errors="replace").strip().splitlines()[-1:]
        problem = f"FAILED with code {measured.exit_code}: {''.join(last)}"
    else:
        try:
            output = (work / (contender.output or OUT_NAME)).read_text(encoding="utf-8")
            version = contender.version(tools, output)
            problem = wrong(contender.differences(output, file.truth))
        except (OSError, ValueError, KeyError) as error:
            problem = f"FAILED: its output cannot be read ({error})"
    shutil.rmtree(work)
    _log(f"{measured.wall_s:.2f} s{problem and f', {problem}'}")
    after = replace(before, problem=problem, version=version)
    if is_first:
        return replace(after, peak_bytes=measured.peak_bytes)
    return replace(after, passes=(*before.passes, Pass(measured.wall_s, measured.cpu_s)))
