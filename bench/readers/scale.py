"""`scripts/bench scale`: the aggregator on 20 and 100 million rows, four files, 100,000 labels and six days."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.readers import file as bench_file
from bench.readers.aggregate import SEED, Case, interleaved, print_if_busy, tools_of
from bench.readers.contenders import CONTENDERS, OURS, Contender, Tools
from bench.readers.file import BenchFile
from bench.readers.scale_files import many_labels, many_seconds, repeated
from bench.results import Aim, Result, cpu_ratio, ratio
from bench.tables import print_aims, seconds_text
from harness.base.errors import UsageError
from harness.base.guardian import Guardian
from harness.base.log import stderr_log
from harness.base.once import lock
from harness.base.project import BUILD
from harness.base.units import BYTES_PER_MB, mb_text, parse_whole_number
from harness.report.tables import cell, table

_log = stderr_log("bench: ")

SIZES, FILES, LABELS, DAYS = "sizes", "files", "labels", "days"
_PARTS = (SIZES, FILES, LABELS, DAYS)
# A file may take this much more than its share of rows, next to the base; four files this much more than one.
_LINEAR_MOST, _FILES_MOST = 1.05, 1.05
_PEAK_BYTES_END = 150 * BYTES_PER_MB
_LABELS_BYTES_MOST, _DAYS_BYTES_MOST = 300 * BYTES_PER_MB, 200 * BYTES_PER_MB
# The base, of which ten times as many rows are the largest file.
_ROWS_MOST = 10_000_000
_BYTES_PER_ROW = 140
_ROWS_PER_LABEL, _ROWS_PER_S = 10, 2
_COLUMNS = (
    "aggregate.py table on",
    "rows",
    "MB",
    "seconds, median (range)",
    "÷ first",
    "CPU s",
    "CPU ÷ first",
    "peak memory MB",
    "figures",
)
_DESCRIPTION = """\
Time and memory of aggregate.py table beyond usual sizes: a generated file of --rows rows repeated --times times,
--files such files next to one of as many rows, a file of --labels labels, and one over --days days with two rows a
second. With the defaults it needs 18 GB in build/bench, which it frees at its end (the file of --rows stays until make
clean), and takes about 20 minutes."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.description = _DESCRIPTION
    option = parser.add_argument
    option("--parts", default=",".join(_PARTS), metavar="PART,…", help=f"what to measure ({','.join(_PARTS)})")
    option("--rows", default="10000000", metavar="N", help="rows of the file that is repeated (10000000)")
    option("--times", default="2,10", metavar="N,…", help="how often it is repeated (2,10)")
    option("--files", default="4", metavar="N", help="files of that size next to one of as many rows (4)")
    option("--labels", default="100000", metavar="N", help="labels, of ten rows each (100000)")
    option("--days", default="6", metavar="N", help="days, with two rows a second (6)")
    option("--repeat", default="3", metavar="N", help="timed passes of each file (3)")


def bench(options: argparse.Namespace) -> int:
    """Print a table per part and the aims; return 0, or 1 when an aim is missed."""
    parts = options.parts.split(",")
    for part in parts:
        if part not in _PARTS:
            raise UsageError(f"--parts {part}: no such part", f"there are {', '.join(_PARTS)}")
    rows = parse_whole_number(options.rows, "--rows", 1000, _ROWS_MOST)
    times = [parse_whole_number(text, "--times", 2, 10) for text in options.times.split(",")]
    file_count = parse_whole_number(options.files, "--files", 2, 9)
    label_count = parse_whole_number(options.labels, "--labels", 1, 1_000_000)
    day_count = parse_whole_number(options.days, "--days", 1, 30)
    repeat = parse_whole_number(options.repeat, "--repeat", 1, 100)
    measured: dict[str, Callable[[Path], list[Aim]]] = {
        SIZES: lambda folder: _sizes(folder, rows, times, repeat),
        FILES: lambda folder: _files(folder, rows, file_count, repeat),
        LABELS: lambda folder: _labels(folder, label_count, repeat),
        DAYS: lambda folder: _days(folder, day_count, repeat),
    }
    needed = {SIZES: rows * (1 + sum(times)), FILES: rows * (1 + 2 * file_count)}
    aims = []
    with lock(BUILD / "bench.lock", "the bench", _log):
        _check_space(max(needed.get(part, rows) for part in parts) * _BYTES_PER_ROW)
        print_if_busy()
        for part in _PARTS:
            if part in parts:
                with _folder() as folder:
                    aims += measured[part](folder)
    return print_aims(aims)


def _check_space(needed_bytes: int) -> None:
    """Print the space that is needed. UsageError when it is not there."""
    BUILD.mkdir(exist_ok=True)
    free_bytes = shutil.disk_usage(BUILD).free
    _log(f"needs up to {mb_text(needed_bytes)} MB in {BUILD}; {mb_text(free_bytes)} MB are free")
    if free_bytes < needed_bytes:
        raise UsageError(
            f"{BUILD}: {mb_text(free_bytes)} MB are free, but {mb_text(needed_bytes)} MB are needed",
            "free some space, or give smaller --rows, --times or --files",
        )


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield a new folder that is removed even when this process is killed."""
    parent = BUILD / "bench"
    parent.mkdir(parents=True, exist_ok=True)
    with Guardian() as guardian, tempfile.TemporaryDirectory(prefix="scale-", dir=parent) as name:
        guardian.remove_at_end(Path(name))
        try:
            yield Path(name)
        except OSError as error:
            raise UsageError(f"{name}: cannot be written ({error.strerror})", "free some space") from None


def _sizes(folder: Path, rows: int, times: Sequence[int], repeat: int) -> list[Aim]:
    base = _base(rows)
    files = [base, *(repeated(base, range(count), folder / f"{count}.jtl", _log) for count in times)]
    results = _measured([f"{file.row_count:,} rows" for file in files], files, repeat)
    aims = _figures(results)
    for file, (name, result) in zip(files, results, strict=True):
        share = file.row_count // rows
        if share > 1:
            most = _LINEAR_MOST * share
            aims.append(_ratio_aim(f"{name}: time ÷ that of {rows:,} rows", ratio(result, results[0][1]), most))
            cpu = cpu_ratio(result, results[0][1])
            aims.append(_ratio_aim(f"{name}: CPU time ÷ that of {rows:,} rows", cpu, most))
        aims.append(_peak_aim(name, result, _PEAK_BYTES_END))
    return aims


def _files(folder: Path, rows: int, file_count: int, repeat: int) -> list[Aim]:
    base = _base(rows)
    one = repeated(base, range(file_count), folder / "one.jtl", _log)
    several = folder / "several"
    several.mkdir()
    written = [repeated(base, (number,), several / f"{number + 1}.jtl", _log) for number in range(file_count)]
    together = BenchFile(several, sum(file.size_bytes for file in written), one.row_count, one.truth)
    names = [f"one file of {one.row_count:,} rows", f"{file_count} files of {rows:,} rows"]
    results = _measured(names, [one, together], repeat)
    what = f"{names[1]}: time ÷ that of one file"
    return [
        *_figures(results),
        _ratio_aim(what, ratio(results[1][1], results[0][1]), _FILES_MOST),
        _ratio_aim(what.replace("time", "CPU time"), cpu_ratio(results[1][1], results[0][1]), _FILES_MOST),
    ]


def _labels(folder: Path, label_count: int, repeat: int) -> list[Aim]:
    name = f"{label_count:,} labels"
    _log(f"writing {name}")
    return _peak(name, many_labels(folder / "labels.jtl", label_count, _ROWS_PER_LABEL), repeat, _LABELS_BYTES_MOST)


def _days(folder: Path, day_count: int, repeat: int) -> list[Aim]:
    name = f"{day_count} days"
    _log(f"writing {name}")
    return _peak(name, many_seconds(folder / "days.jtl", day_count, _ROWS_PER_S), repeat, _DAYS_BYTES_MOST)


def _peak(name: str, file: BenchFile, repeat: int, bytes_most: int) -> list[Aim]:
    """Return the aims of a table of one file: its figures and its peak memory."""
    results = _measured([name], [file], repeat)
    return [*_figures(results), _peak_aim(name, results[0][1], bytes_most)]


def _base(rows: int) -> BenchFile:
    return bench_file.ensure(BUILD / "bench", SEED, rows, _log)


def _measured(names: Sequence[str], files: Sequence[BenchFile], repeat: int) -> list[tuple[str, Result]]:
    """Measure the table of each file, alternately, and print the results; return them by name."""
    ours: Contender = next(one for one in CONTENDERS if one.name == OURS)
    tools: Tools = tools_of([ours])
    results = interleaved([Case(ours, file) for file in files], tools, repeat)
    lines = [
        [
            name,
            f"{file.row_count:,}",
            mb_text(file.size_bytes),
            seconds_text([timed.wall_s for timed in result.passes]),
            _text(ratio(result, results[0])),
            _text(result.cpu_s),
            _text(cpu_ratio(result, results[0])),
            mb_text(result.peak_bytes),
            cell(result.problem or "right"),
        ]
        for name, file, result in zip(names, files, results, strict=True)
    ]
    print(table(_COLUMNS, lines), end="\n\n", flush=True)
    return list(zip(names, results, strict=True))


def _figures(results: Sequence[tuple[str, Result]]) -> list[Aim]:
    return [Aim(f"{name}: figures", one.problem or "right", "right", not one.problem) for name, one in results]


def _ratio_aim(what: str, value: float | None, most: float) -> Aim:
    return Aim(what, _text(value), f"≤ {most:g}", value is not None and value <= most)


def _peak_aim(name: str, result: Result, most: int) -> Aim:
    peak = result.peak_bytes
    return Aim(f"{name}: peak memory, MB", mb_text(peak), f"≤ {mb_text(most)}", peak is not None and peak <= most)


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
