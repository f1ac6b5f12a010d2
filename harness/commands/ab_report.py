"""`aggregate.py ab`: write the report of an A/B test again, from its record and its runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.ab.outcome import headline
from harness.ab.record import AbRecord
from harness.ab.steps import AbTest
from harness.base.paths import shown
from harness.base.toolchain import ROOT
from harness.experiment.files import Experiments
from harness.experiment.runner import rewritten
from harness.run import kinds
from harness.site.html_option import add_html_option, write_html

_EPILOG = """\
examples:
  ./aggregate.py ab lb-nginx/ab-01              writes reports/ab/lb-nginx/ab-01.md and its JSON again
  ./aggregate.py ab lb-nginx/ab-01 --html       also as one HTML file, ab-01.html
  ./aggregate.py ab ab-01                       when only one plan has an A/B test of this name
  ./aggregate.py ab reports/ab/lb-nginx/ab-01.md --sure

The verdict is computed from the stored runs, so a test that was killed gets the report of what it measured. scripts/ab
with --resume continues it. When a run has lost its numbers, nothing is written.

exit codes: those of scripts/ab: 0 OK, IMPROVED or CANNOT TELL; 1 REGRESSED, with --sure also CANNOT TELL; 2 wrong use;
3 the runs are INVALID; 130 the test is not finished.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `ab`."""
    parser.description = "Write the report of an A/B test again and print its verdict. Notes are preserved."
    parser.epilog = _EPILOG
    option = parser.add_argument
    option("name", help="an A/B test such as lb-nginx/ab-01, or its .json or .md file")
    add_html_option(parser)
    option("--sure", action="store_true", help="exit code 1 also for CANNOT TELL")
    option("--reports", type=Path, default=ROOT / "reports" / kinds.AB_TEST.folder, help="default: reports/ab/")


def run(options: argparse.Namespace) -> int:
    """Write the report, print its headline and return the exit code of the test."""
    tests = Experiments(AbRecord, options.reports)
    files = tests.find(options.name)
    outcome = rewritten(AbTest(files, options.reports, {}), files, tests)
    print(f"{shown(files.report)}: {headline(outcome)}")
    if options.html:
        write_html(files.report)
    return outcome.exit_code_if(sure=options.sure)
