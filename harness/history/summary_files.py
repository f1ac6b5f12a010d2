"""Write SUMMARY.md into the reports folder."""

from __future__ import annotations

from pathlib import Path

from harness.history.catalogue import Catalogue
from harness.history.files import read_catalogue
from harness.history.summary_page import summary_page
from harness.report.notes import notes_of
from harness.report.pages import write_page

SUMMARY_NAME = "SUMMARY.md"


def write_summary(reports_dir: Path) -> Catalogue:
    """Write SUMMARY.md for all runs in `reports_dir` and return them; its notes block is preserved."""
    catalogue = read_catalogue(reports_dir)
    write_page(reports_dir / SUMMARY_NAME, lambda notes: summary_page(catalogue, notes))
    return catalogue


def summary_notes(reports_dir: Path) -> str:
    """Return the notes block of SUMMARY.md; empty without one."""
    page = reports_dir / SUMMARY_NAME
    return (notes_of(page.read_text(encoding="utf-8", errors="replace")) if page.is_file() else None) or ""
