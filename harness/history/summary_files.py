"""Writes SUMMARY.md into the reports folder."""

from __future__ import annotations

from pathlib import Path

from harness.base.log import Log
from harness.history.catalogue import Catalogue
from harness.history.files import read_catalogue
from harness.history.summary import overview
from harness.report.notes import notes_of
from harness.report.pages import write_page

SUMMARY_NAME = "SUMMARY.md"


def write_overview(reports_dir: Path) -> Catalogue:
    """Write SUMMARY.md of all that is in `reports_dir` and return what that is; what people wrote there is kept."""
    catalogue = read_catalogue(reports_dir)
    write_page(reports_dir / SUMMARY_NAME, lambda notes: overview(catalogue, notes))
    return catalogue


def update_overview(reports: Path, log: Log) -> None:
    """Write the reports folder's SUMMARY.md again; no run fails because that cannot be done."""
    try:
        write_overview(reports)
    except Exception as error:  # noqa: BLE001 - whatever else lies in the folder, the run itself is fine
        log(f"{SUMMARY_NAME} could not be written again: {error}; make summary does it")


def summary_notes(reports_dir: Path) -> str:
    """Return what people wrote into the notes block of SUMMARY.md; empty without one."""
    page = reports_dir / SUMMARY_NAME
    return (notes_of(page.read_text(encoding="utf-8", errors="replace")) if page.is_file() else None) or ""
