"""`aggregate.py site`: all reports as a static HTML site."""

from __future__ import annotations

import argparse
import os

from harness.base.errors import EXIT_OK, HarnessError
from harness.base.toolchain import ROOT, ensure_charts
from harness.history.summary import count_line
from harness.plan.plan import load_plan
from harness.plan.thresholds import Thresholds
from harness.site.files import write_site
from harness.site.pages import INDEX


def make_site(options: argparse.Namespace) -> int:
    """Write the site and say where; return the exit code."""
    catalogue = write_site(options.reports, options.output.resolve(), ensure_charts(), _thresholds_of)
    print(f"{os.path.relpath(options.output / INDEX)}: {count_line(catalogue.entries)} Open it in a browser.")
    for entry in catalogue.entries:
        if entry.problem:
            print(f"  {entry.id}: {entry.problem}")
    return EXIT_OK


def _thresholds_of(plan: str) -> Thresholds:
    """Return the changes that matter of a plan, the usual ones where it is not there any more."""
    try:
        return load_plan(ROOT / "plans", plan).thresholds
    except HarnessError:
        return Thresholds()
