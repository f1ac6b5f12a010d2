"""A folder of reports with a sweep."""

import pytest

from tests.support.sweep_reports import save_record, save_run
from tests.support.sweeps import SWEEP_RECORD


@pytest.fixture
def reports(tmp_path, monkeypatch):
    """A reports folder with one sweep: 1, 2 and 4 users wait 400, 800 and 2000 ms."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "reports" / "tiny"
    for number, (users, elapsed_ms) in enumerate(((1, 400), (2, 800), (4, 2000)), start=1):
        save_run(folder, f"run-07_{number}", users, elapsed_ms)
    save_record(tmp_path / "reports", SWEEP_RECORD)
    return tmp_path / "reports"
