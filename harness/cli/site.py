"""`aggregate.py site`: all reports as a static HTML site."""

from __future__ import annotations

import argparse
import os

from harness.errors import EXIT_OK
from harness.io.site import write_site
from harness.io.toolchain import ensure_charts
from harness.render.overview import count_line
from harness.render.site.pages import INDEX


def make_site(options: argparse.Namespace) -> int:
    """Write the site and say where; return the exit code."""
    catalogue = write_site(options.reports, options.output.resolve(), ensure_charts())
    print(f"{os.path.relpath(options.output / INDEX)}: {count_line(catalogue.entries)} Open it in a browser.")
    for entry in catalogue.entries:
        if entry.problem:
            print(f"  {entry.id}: {entry.problem}")
    return EXIT_OK
