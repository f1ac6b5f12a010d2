"""`aggregate.py nightly`: write a nightly report again, from its record and the runs of all nightly runs."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from harness.base.toolchain import ROOT
from harness.nightly.files import find_nightly
from harness.nightly.render import headline
from harness.nightly.report_files import write_nightly_report
from harness.site.html_option import add_html_option, write_html


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `nightly`."""
    parser.description = (
        "Write a nightly report with its charts and its JUnit XML again, for example after make accept or a kill -9. "
        "Notes are preserved."
    )
    option = parser.add_argument
    option("name", help="a nightly run such as 2026-11-21, or its .json or .md file")
    add_html_option(parser)
    option("--sure", action="store_true", help="exit code 3 also when a run is DOUBTFUL")
    option("--reports", type=Path, default=ROOT / "reports" / "nightly", help="default: reports/nightly/")
    option("--home", type=Path, default=ROOT, help="folder whose env/ lists the accepted changes (this one)")


def run(options: argparse.Namespace) -> int:
    """Write the nightly report, print its headline and return its exit code."""
    files = find_nightly(options.reports, options.name)
    result = write_nightly_report(files, options.home)
    print(f"{os.path.relpath(files.report)}: {headline(result)}")
    if options.html:
        write_html(files.report)
    return result.exit_code_if(sure=options.sure)
