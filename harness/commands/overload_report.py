"""`aggregate.py overload`: write the report of an overload test again, from its record."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path

from harness.base.paths import shown
from harness.base.toolchain import ROOT
from harness.experiment.files import Experiments
from harness.experiment.record import RUNNING
from harness.overload.record import OverloadRecord
from harness.overload.render import result_line, write_overload_report
from harness.site.html_option import add_html_option, write_html

_EPILOG = """\
examples:
  ./aggregate.py overload thruzero/overload-07              writes reports/thruzero/overload-07.md and its chart again
  ./aggregate.py overload overload-07                       when only one plan has an overload test of this name
  ./aggregate.py overload reports/thruzero/overload-07.md --html       also as one HTML file, overload-07.html

The record has the results of each variant, so no samples are needed. A test that was killed gets the report of the
variants that it measured; the command in its report resumes it.

exit codes: those of scripts/overload: 0 success, whatever the verdicts; 2 wrong use; 3 a variant has no usable run;
130 the test is not finished.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `overload`."""
    parser.description = "Write the report of an overload test again and print its results. Notes are preserved."
    parser.epilog = _EPILOG
    option = parser.add_argument
    option("name", help="an overload test such as thruzero/overload-07, or its .json or .md file")
    add_html_option(parser)
    option("--reports", type=Path, default=ROOT / "reports", help="default: reports/")


def run(options: argparse.Namespace) -> int:
    """Write the report, print the result of each variant and return the exit code of the test."""
    tests = Experiments(OverloadRecord, options.reports)
    files = tests.find(options.name)
    # The record of a test that is in progress belongs to the process that runs it.
    with files.locked() if tests.read(files).state == RUNNING else nullcontext():
        record = tests.read(files)
        write_overload_report(files, record)
    print(shown(files.report))
    for one in record.measured:
        print(f"{record.variant_names[one.variant]}: {result_line(one, record.limit_ms)}")
    if options.html:
        write_html(files.report)
    return record.exit_code
