"""`aggregate.py summary`, `history`, `site`: what they take. What they need is loaded when one of them is called."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from harness.base.errors import EXIT_OK
from harness.base.toolchain import BUILD, ROOT

MARKDOWN, CSV, JSON, OTAVA = "markdown", "csv", "json", "otava"
_HISTORY_EPILOG = """\
examples:
  ./aggregate.py history --plan killbill-stripe                         TOTAL of every run, its average
  ./aggregate.py history --plan killbill-stripe --users 50 --metric p90 --last 20
  ./aggregate.py history --plan killbill-stripe --label 'Authorize Payment' --format csv > authorize.csv
  ./aggregate.py history --plan killbill-stripe --format otava > killbill.csv     for Apache Otava
  ./aggregate.py history reports/nightly --plan killbill-stripe --users 10        the nights
  ./aggregate.py history --plan killbill-stripe --save          history-TOTAL-average.md in its reports

Where the figures changed for good is told with the size of the change; ./aggregate.py accept marks one as intended.
Runs that differ in load, profile or machine stand apart. Runs that are not VALID are listed and take no part.

exit codes: 0 fine; 2 wrong use.
"""


def add_summary(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `summary` and its options."""
    summary = verbs.add_parser("summary", help="write SUMMARY.md: every run of every plan; its notes are kept")
    add_reports(summary)


def add_history(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `history` and its options."""
    verb = verbs.add_parser(
        "history",
        help="the figures of a plan over time, as table and chart",
        description="Print the figures of a plan's runs, oldest to newest, and the change against the runs before.",
        epilog=_HISTORY_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_reports(verb)
    verb.add_argument("--plan", required=True, help="the plan, as its folder in the reports is named")
    verb.add_argument("--label", default="TOTAL", help="default: TOTAL of the load")
    verb.add_argument(
        "--metric", default="average", help="average (default), median, p75, p90, p95, p99, throughput or errors"
    )
    verb.add_argument("--users", metavar="N", help="only runs of so many users")
    verb.add_argument("--last", metavar="N", help="only the N newest of each set of conditions")
    verb.add_argument("--format", choices=(MARKDOWN, CSV, JSON, OTAVA), default=MARKDOWN)
    where = verb.add_mutually_exclusive_group()
    where.add_argument(
        "--output", type=Path, metavar="FILE", help="write the file; of Markdown also the charts beside it"
    )
    where.add_argument(
        "--save", action="store_true", help="the same, into the plan's reports: history-TOTAL-average.md"
    )


def add_site(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `site` and its options."""
    verb = verbs.add_parser(
        "site",
        help="all reports as HTML pages that need no server",
        description="Write all reports as a static HTML site: a list with filters, charts to zoom, two runs side by "
        "side. It opens from the disk, and can be put on any web server.",
    )
    add_reports(verb)
    verb.add_argument("--output", type=Path, default=BUILD / "site", help="the folder to write; default: build/site")


def add_reports(verb: argparse.ArgumentParser) -> None:
    """Add where the reports are."""
    verb.add_argument("reports", nargs="?", type=Path, default=ROOT / "reports", help="default: reports/")


def write_summary(options: argparse.Namespace) -> int:
    """Write SUMMARY.md and say what it holds; return the exit code."""
    # Here, because only this verb needs templates, which take their time to load.
    from harness.history.summary import count_line
    from harness.history.summary_files import SUMMARY_NAME, write_overview

    catalogue = write_overview(options.reports)
    print(f"{os.path.relpath(options.reports / SUMMARY_NAME)}: {count_line(catalogue.entries)}")
    for entry in catalogue.entries:
        if entry.problem:
            print(f"  {entry.id}: {entry.problem}")
    return EXIT_OK
