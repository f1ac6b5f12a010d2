"""Append a nightly report to the step summary of a GitHub workflow."""

from __future__ import annotations

import os

from harness.forge.step_summary import append_report
from harness.nightly.notice import Notice


def append_step_summary(notice: Notice) -> None:
    """Append the nightly report to the file of --summary or of $GITHUB_STEP_SUMMARY."""
    append_report(notice.files.report, notice.page, os.environ, notice.summary_file)
