"""What commands do with a report besides: --html writes it as one file, a workflow's summary links it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from harness.base.errors import HarnessError, ServiceError
from harness.base.log import log, print_text
from harness.base.paths import shown
from harness.forge.comment import cut, without_files
from harness.notify.recipients import github_run
from harness.report.results import stated_result, with_headline

# GitHub rejects a longer step summary completely.
LIMIT_BYTES = 1024 * 1024
_VARIABLE = "GITHUB_STEP_SUMMARY"


def write_html(report: Path) -> None:
    """Write a Markdown report as one HTML file beside it and print the file's path."""
    from harness.site.files import page_line, write_report_page  # deferred: without --html no site is needed

    print_text(page_line(write_report_page(report)))


def publish(report: Path, options: argparse.Namespace) -> Path | None:
    """Write what --html and --junit ask for about a report, and append it to the step summary of a workflow.

    That is the file of --summary, else of $GITHUB_STEP_SUMMARY. Return the HTML file, None without one. A failure is
    printed: the runs are measured, and their report is written.
    """
    page = None
    options.junit.add_report(report)
    if options.html:
        from harness.site.files import try_report_page  # deferred: only --html needs the site

        page = try_report_page(report, log)
    try:
        append_report(report, page, os.environ, getattr(options, "summary", None))
    except HarnessError as error:
        log(str(error))
    return page


def append_report(
    report: Path, page: Path | None, environment: Mapping[str, str], summary_file: Path | None = None
) -> None:
    """Append a report to a file, by default that of GITHUB_STEP_SUMMARY in `environment`, within the limit of the file.

    `page` is the report as one HTML file, which is linked; None without one. Without a file nothing is done.
    ServiceError when it cannot be written.
    """
    name = environment.get(_VARIABLE)
    path = summary_file or (Path(name) if name else None)
    if path is None:
        return
    run = github_run(environment) if page else ""
    where = f"[The report as one HTML file, with its charts]({run}#artifacts)"
    link = f"\n{where}: `{page.name}` in the artefacts of this run.\n" if page and run else ""
    try:
        room_bytes = LIMIT_BYTES - (path.stat().st_size if path.exists() else 0) - len(link.encode())
        text = with_headline(report.read_text(encoding="utf-8"), stated_result(report))
        with path.open("a", encoding="utf-8") as stream:
            stream.write(step_summary(text, shown(report), room_bytes) + link)
    except OSError as error:
        what = f"{path}: the summary cannot be written ({error.strerror})"
        raise ServiceError(what, "the report is complete") from None


def step_summary(report: str, report_name: str, room_bytes: int = LIMIT_BYTES) -> str:
    """Return the report as a summary of at most `room_bytes` bytes of UTF-8; longer reports are cut between lines.

    `report_name` names where the rest is.
    """
    return cut(without_files(report), room_bytes, report_name, size=lambda text: len(text.encode()))
