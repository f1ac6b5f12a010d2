"""`aggregate.py report --merge`: the runs of independent generators become one run."""

from __future__ import annotations

import argparse
import os

from harness.base.errors import EXIT_INVALID, EXIT_OK
from harness.compare.sources import refuse_stored
from harness.metrics.figures import LOAD
from harness.report.merge_files import merge
from harness.report.terminal import closing_text


def merge_runs(options: argparse.Namespace) -> int:
    """Merge the runs of the options and say what they come to; return the exit code."""
    for name in options.run:
        refuse_stored(name)
    directory, summary = merge(options.run, options.reports.resolve(), options.into)
    print(closing_text(summary, os.path.relpath(directory.report)))
    return EXIT_OK if summary.group(LOAD) else EXIT_INVALID
