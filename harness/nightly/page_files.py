"""Writes what people and CI read of a night, out of its record and the runs of all nights: page, charts, JUnit XML."""

from __future__ import annotations

from pathlib import Path

from harness.history.acceptance_files import ACCEPTED, read_acceptances
from harness.history.files import read_catalogue
from harness.nightly.files import NightFiles
from harness.nightly.junit import junit_xml
from harness.nightly.outcome import NightlyResult, nightly_result
from harness.nightly.render import FILE_NAME, night_pictures, nightly_page
from harness.report.charts.files import write_pictures
from harness.report.pages import write_page
from harness.run.directory import write_whole


def write_night(files: NightFiles, home: Path) -> NightlyResult:
    """Write the page, its charts and the JUnit XML of a night and return what it came to; same runs, same bytes.

    What people wrote into the page's notes block is kept. `home` has the file of accepted changes.
    """
    result = nightly_result(files.read(), read_catalogue(files.reports).entries, read_acceptances(home / ACCEPTED))
    write_whole(files.junit, junit_xml(result))
    pictures = night_pictures(result)
    write_pictures(files.folder, [picture for charts in pictures.values() for picture in charts], FILE_NAME)
    write_page(files.page, lambda notes: nightly_page(result, pictures, notes))
    return result
