"""Write the nightly report, its charts and its JUnit XML from the record and the runs of all nightly runs."""

from __future__ import annotations

from pathlib import Path

from harness.base.errors import HarnessError
from harness.experiment.record import FINISHED
from harness.history.acceptance_files import ACCEPTED, read_acceptances
from harness.history.files import read_catalogue
from harness.nightly.files import NightlyFiles, find_before
from harness.nightly.junit import junit_xml
from harness.nightly.outcome import NightlyResult, nightly_result
from harness.nightly.render import FILE_NAME, headline, nightly_charts, nightly_report
from harness.report.charts.files import write_charts
from harness.report.pages import write_page
from harness.report.results import store_result
from harness.run.directory import write_whole


def read_nightly_result(files: NightlyFiles, home: Path) -> NightlyResult:
    """Return the result of a nightly run; `home` has the file of accepted changes."""
    return nightly_result(files.read(), read_catalogue(files.reports).entries, read_acceptances(home / ACCEPTED))


def verdict_before(files: NightlyFiles, home: Path) -> str | None:
    """Return the verdict of the nightly run before this one; None when there is none, or it cannot be read."""
    before = find_before(files)
    try:
        return read_nightly_result(before, home).verdict if before else None
    except HarnessError:
        return None


def write_nightly_report(files: NightlyFiles, home: Path) -> NightlyResult:
    """Write the report, its charts and the JUnit XML and return the result; the output is deterministic.

    The report's notes block is preserved. `home` has the file of accepted changes.
    """
    result = read_nightly_result(files, home)
    write_whole(files.junit, junit_xml(result))
    charts = nightly_charts(result)
    write_charts(files.folder, [chart for of_load in charts.values() for chart in of_load], FILE_NAME)
    write_page(files.report, lambda notes: nightly_report(result, charts, notes))
    if result.record.state == FINISHED:  # else it belongs to the process that runs or resumes the nightly run
        store_result(files.report, result.verdict, headline(result))
    return result
