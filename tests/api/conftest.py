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
    add_run(folder / "reports", "tiny/run-07_1", label="Pay, then wait")
    add_run(folder / "reports", "tiny/run-07_2", label="Pay, then wait", elapsed_ms=200, failures=1)
    return folder / "reports"
