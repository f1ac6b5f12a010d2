"""Defines the measured readers: ours and alternative ones, each run as a whole process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.readers.check import counts_differ, dashboard_differs, figures_differ, report_differs, table_differs
from bench.readers.report_run import NAME, run_directory
from bench.readers.truth import Truth

OURS, REPORT, POLARS, POLARS_FIGURES, JMETER = "ours", "report", "polars", "polars-figures", "jmeter-g"
_PROGRAMS = Path(__file__).resolve().parent / "programs"


@dataclass(frozen=True)
class Tools:
    """The programs: the checkout, Python of .venv and of the other readers, JMeter's home and version."""

    root: Path
    python: Path
    bench_python: Path
    jmeter_home: Path
    jmeter_version: str


@dataclass(frozen=True)
class Contender:
    """A reader: `command(tools, file, folder)` runs in an empty folder and writes `output` there.

    `differences` returns the errors in that output, `version(tools, output)` the reader's version. Files with more than
    `most_rows` rows are skipped.
    """

    name: str
    title: str
    command: Callable[[Tools, Path, Path], list[str]]
    differences: Callable[[str, Truth], list[str]]
    version: Callable[[Tools, str], str]
    output: str = ""
    most_rows: int | None = None


def _ours(tools: Tools, file: Path, _folder: Path) -> list[str]:
    return [str(tools.python), str(tools.root / "aggregate.py"), "table", str(file)]


def _report(tools: Tools, file: Path, folder: Path) -> list[str]:
    return [str(tools.python), str(tools.root / "aggregate.py"), "report", str(run_directory(file, folder))]


def _program(name: str) -> Callable[[Tools, Path, Path], list[str]]:
    return lambda tools, file, _: [str(tools.python), str(_PROGRAMS / name), str(file)]


def _bench_program(name: str) -> Callable[[Tools, Path, Path], list[str]]:
    return lambda tools, file, _: [str(tools.bench_python), str(_PROGRAMS / name), str(file)]


def _dashboard(tools: Tools, file: Path, folder: Path) -> list[str]:
    jmeter = str(tools.jmeter_home / "bin" / "jmeter")
    return [jmeter, "-g", str(file), "-o", str(folder / "dashboard"), "-j", "jmeter.log"]


def _printed_version(_tools: Tools, output: str) -> str:
    return str(json.loads(output)["version"])


CONTENDERS = (
    Contender(OURS, "aggregate.py table", _ours, table_differs, lambda _tools, _output: ""),
    Contender(
        REPORT,
        "aggregate.py report",
        _report,
        report_differs,
        lambda _tools, _output: "",
        output=f"bench/{NAME}.json",
    ),
    Contender(
        POLARS, "streaming polars, two columns", _bench_program("with_polars.py"), counts_differ, _printed_version
    ),
    Contender(
        POLARS_FIGURES,
        "streaming polars, same figures",
        _bench_program("with_polars_figures.py"),
        figures_differ,
        _printed_version,
    ),
    Contender("duckdb", "DuckDB", _bench_program("with_duckdb.py"), counts_differ, _printed_version),
    Contender("pandas", "pandas", _program("with_pandas.py"), counts_differ, _printed_version),
    Contender("csv", "csv module of Python", _program("with_csv.py"), counts_differ, _printed_version),
    Contender(
        JMETER,
        "jmeter -g",
        _dashboard,
        dashboard_differs,
        lambda tools, _output: tools.jmeter_version,
        output="dashboard/statistics.json",
        most_rows=1_000_000,  # 10M rows would take five minutes, and more heap than its start script sets
    ),
)
# The readers that need build/bench-venv.
IN_BENCH_VENV = {POLARS, POLARS_FIGURES, "duckdb"}
