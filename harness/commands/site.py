"""`lth site`: write all reports as a static HTML site."""

from __future__ import annotations

import argparse
import os

from harness.base.errors import EXIT_OK, HarnessError
from harness.base.install.toolchain import ensure_charts
from harness.base.log import print_text
from harness.base.project import current_project, folder_with
from harness.cli.options import take, take_argument
from harness.history.summary_page import count_line
from harness.plan.plan import load_plan
from harness.plan.thresholds import Thresholds
from harness.site.files import write_site
from harness.site.pages import INDEX


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `site`."""
    parser.description = (
        "Write all reports as a static HTML site: a list of runs with filters, charts that zoom, and two runs side by "
        "side. Open it from disk, or copy it to any web server."
    )
    take(parser, "reports output/site")
    take_argument(parser, "reports", "?")


def run(options: argparse.Namespace) -> int:
    """Write the site, print its path and return the exit code."""
    catalogue = write_site(options.reports, options.output.resolve(), ensure_charts(), _thresholds_of)
    print_text(f"{os.path.relpath(options.output / INDEX)}: {count_line(catalogue.entries)} Open it in a browser.")
    for entry in catalogue.entries:
        if entry.problem:
            print_text(f"  {entry.id}: {entry.problem}")
    return EXIT_OK


def _thresholds_of(plan: str) -> Thresholds:
    """Return the thresholds of a plan, or the default ones when the plan no longer exists."""
    try:
        return load_plan(folder_with(current_project().folder, "plans", plan), plan).thresholds
    except HarnessError:
        return Thresholds()
