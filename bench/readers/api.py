"""`scripts/bench api`: measures time and memory of the Python interface on a generated file."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench.measure import ERR_NAME, OUT_NAME, measure
from bench.readers import file as bench_file
from bench.readers.file import BenchFile
from harness.base.errors import EXIT_OK, EXIT_REGRESSED
from harness.base.guardian import Guardian
from harness.base.log import stderr_log
from harness.base.once import lock
from harness.base.project import BUILD, SHIPPED
from harness.base.units import mb_text, parse_whole_number
from harness.report.tables import table

_log = stderr_log("bench: ")

_SEED = 1
_ROWS_MOST = 100_000_000
# A DataFrame of more samples would not fit into the memory of a small machine.
_WHOLE_ROWS_MOST = 2_000_000
_BEGIN = "import sys; from harness.api import read_jtl; run = read_jtl(sys.argv[1])\n"
_SUMS = "print(found.sample_count.sum(), found.error_count.sum())"
_WHOLE = "samples()"
# What is measured: each prints the numbers of samples and of errors.
_CALLS = {
    "table()": f"found = run.table(); found = found[~found.is_total]; {_SUMS}",
    "per_second()": f"found = run.per_second(); {_SUMS}",
    "timeline()": f"found = run.timeline(); {_SUMS}",
    "samples(chunk_rows=100_000)": (
        "chunks = run.samples(chunk_rows=100_000)\n"
        "sums = [(chunk.sample_count.sum(), chunk.error_count.sum()) for chunk in chunks]\n"
        "print(*map(sum, zip(*sums)))"
    ),
    "per_second(by_label=True)": f"found = run.per_second(by_label=True); found = found[~found.is_total]; {_SUMS}",
    _WHOLE: f"found = run.samples(); {_SUMS}",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--rows", default="1000000", metavar="N", help="size of the file (1000000)")


def bench(options: argparse.Namespace) -> int:
    """Print a row per call; return 0, or 1 when one of them does not count all samples and errors."""
    row_count = parse_whole_number(options.rows, "--rows", 1, _ROWS_MOST)
    with lock(BUILD / "bench.lock", "the bench", _log):
        file = bench_file.ensure(BUILD / "bench", _SEED, row_count, _log)
        print(f"**{row_count:,} rows, {mb_text(file.size_bytes)} MB**\n")
        rows = []
        for call in _CALLS:
            if call != _WHOLE or row_count <= _WHOLE_ROWS_MOST:
                rows.append([f"`{call}`", *_measured(file, call)])
                _log(" ".join(rows[-1]))
    print(table(("call", "seconds", "CPU s", "peak memory MB", "samples and errors"), rows))
    return EXIT_OK if all(row[-1] == "right" for row in rows) else EXIT_REGRESSED


def _measured(file: BenchFile, call: str) -> list[str]:
    """Return seconds, CPU seconds, peak memory and the check of a call in a process of its own, with all imports."""
    command = [sys.executable, "-c", _BEGIN + _CALLS[call], str(file.path)]
    with Guardian() as guardian, tempfile.TemporaryDirectory(prefix="bench-") as folder:
        guardian.remove_at_end(Path(folder))
        environment = {**guardian.environment, "PYTHONPATH": str(SHIPPED)}
        measured = measure(command, Path(folder), environment, watch_memory=True)
        output, errors = ((Path(folder) / name).read_text(errors="replace").strip() for name in (OUT_NAME, ERR_NAME))
    labels = file.truth.labels
    wanted = f"{sum(one.sample_count for one in labels)} {sum(one.error_count for one in labels)}"
    if measured.exit_code:
        problem = f"FAILED with code {measured.exit_code}: {errors.rpartition(chr(10))[2]}"
    else:
        problem = "right" if output == wanted else f"WRONG: {output} instead of {wanted}"
    return [f"{measured.wall_s:.1f}", f"{measured.cpu_s:.1f}", mb_text(measured.peak_bytes), problem]
