"""`aggregate.py`: tables and reports from JTLs and run directories."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from harness.errors import EXIT_INVALID, EXIT_OK
from harness.figures import LOAD
from harness.io.results import summary_of_jtls, write_report
from harness.io.rundir import RunDirectory
from harness.io.toolchain import ROOT
from harness.render.tables import group_table, titled_tables
from harness.verdict import headline

_EPILOG = """\
examples:
  ./aggregate.py table samples.jtl                              one Markdown table on standard output
  ./aggregate.py report killbill-stripe/run-01_1                writes run-01_1.md and run-01_1.json again

exit codes: 0 fine; 2 wrong use or a file that cannot be understood; 3 the run is invalid.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog="aggregate.py",
        description="Turn JTLs and run directories into tables and reports.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = result.add_subparsers(dest="verb", required=True, metavar="table|report")
    table = verbs.add_parser("table", help="print the table of a CSV JTL")
    table.add_argument("jtl", type=Path, help="a JTL that JMeter wrote as CSV")
    report = verbs.add_parser("report", help="render the report of a run again; its notes are kept")
    report.add_argument("run", type=Path, help="a run directory, its .json or .md, or a name: killbill-stripe/run-01_1")
    return result


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments ask for; return the exit code."""
    options = parser().parse_args(arguments)
    return _table(options.jtl) if options.verb == "table" else _report(options.run)


def _table(path: Path) -> int:
    summary = summary_of_jtls([path])
    print(titled_tables(summary.groups, map(group_table, summary.groups)), end="")
    for caveat in summary.caveats:
        print(f"\n{caveat.text}")
    return EXIT_OK


def _found(run: Path) -> Path:
    """Return the run directory: the path as given, else the one of that name in reports/, as reports print it."""
    there = run.exists() or run.with_suffix(".json").exists()
    return run if there else ROOT / "reports" / run


def _report(path: Path) -> int:
    directory = RunDirectory(_found(path.with_suffix("") if path.suffix in (".md", ".json") else path).resolve())
    summary = write_report(directory)
    print(f"{os.path.relpath(directory.report)}: {headline(summary.verdict)}")
    return EXIT_OK if summary.group(LOAD) else EXIT_INVALID
