"""`aggregate.py site`: all reports as a static HTML site."""

from __future__ import annotations

import argparse
import os

from harness.errors import EXIT_OK, HarnessError
from harness.io.site import write_site
from harness.io.toolchain import ROOT, ensure_charts
from harness.plan import load_plan
from harness.render.overview import count_line
from harness.render.site.pages import INDEX
from harness.thresholds import Thresholds


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
