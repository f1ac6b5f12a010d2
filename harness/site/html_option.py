"""The option --html of commands that write a report: the report is also written as one HTML file."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_html_option(parser: argparse.ArgumentParser) -> None:
    """Add --html to a command that writes a Markdown report."""
    text = "also write the report as one HTML file beside it: for mail; it loads nothing"
    parser.add_argument("--html", action="store_true", help=text)


def write_html(report: Path) -> None:
    """Write a Markdown report as one HTML file beside it and print the file's path."""
    from harness.site.files import page_line, write_report_page  # deferred: without --html no site is needed

    print(page_line(write_report_page(report)))
