"""`lth summary`: write SUMMARY.md, the list of all runs."""

from __future__ import annotations

import argparse
import os

from harness.base.errors import EXIT_OK
from harness.base.log import print_text
from harness.cli.options import take, take_argument
from harness.history.summary_files import SUMMARY_NAME, write_summary
from harness.history.summary_page import count_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `summary`."""
    parser.description = "Write SUMMARY.md: all runs of all plans, newest first. Notes are preserved."
    take(parser, "reports")
    take_argument(parser, "reports", "?")


def run(options: argparse.Namespace) -> int:
    """Write SUMMARY.md, print the number of runs and return the exit code."""
    catalogue = write_summary(options.reports)
    print_text(f"{os.path.relpath(options.reports / SUMMARY_NAME)}: {count_line(catalogue.entries)}")
    for entry in catalogue.entries:
        if entry.problem:
            print_text(f"  {entry.id}: {entry.problem}")
    return EXIT_OK
