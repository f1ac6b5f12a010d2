"""The option --html of commands that write a report: the report is also written as one HTML file."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from harness.base.errors import HarnessError
from harness.base.log import log
from harness.forge.step_summary import append_report


def add_html_option(parser: argparse.ArgumentParser) -> None:
    """Add --html to a command that writes a Markdown report."""
    text = "also write the report as one HTML file beside it: for mail; it loads nothing"
    parser.add_argument("--html", action="store_true", help=text)


def write_html(report: Path) -> None:
    """Write a Markdown report as one HTML file beside it and print the file's path."""
    from harness.site.files import page_line, write_report_page  # deferred: without --html no site is needed

    print(page_line(write_report_page(report)))


def publish(report: Path, *, is_html: bool, summary_file: Path | None = None) -> Path | None:
    """Write a report as one HTML file with `is_html`, and append it to the step summary of a workflow.

    That is `summary_file`, else the file of $GITHUB_STEP_SUMMARY. Return the HTML file, None without one. A failure is
    printed: the runs are measured, and their report is written.
    """
    page = None
    if is_html:
        from harness.site.files import try_report_page  # deferred: only --html needs the site

        page = try_report_page(report, log)
    try:
        append_report(report, page, os.environ, summary_file)
    except HarnessError as error:
        log(str(error))
    return page
