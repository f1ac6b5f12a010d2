"""A run with everything that a run leaves, and two runs to compare, with their reports."""

from pathlib import Path

import pytest

from harness.report.files import write_report
from tests.support.full_run import run_directory
from tests.support.report_folder import add_run


@pytest.fixture(scope="session")
def reports(tmp_path_factory) -> Path:
    """A folder of reports: tiny/run-01_1 has all kinds of samples; run-07_2 takes twice as long as run-07_1."""
    folder = tmp_path_factory.mktemp("api")
    write_report(run_directory(folder))
    many = {"label": "Pay, then wait", "samples": 1200, "seconds": 120}
    add_run(folder / "reports", "tiny/run-07_1", elapsed_ms=60, **many)
    add_run(folder / "reports", "tiny/run-07_2", elapsed_ms=120, failures=1, **many)
    return folder / "reports"
