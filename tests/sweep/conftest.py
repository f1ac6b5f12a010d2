"""A folder of reports with a sweep, and a command that measures one."""

import pytest

from tests.support.sweep_reports import save_record, save_run
from tests.support.sweeps import SWEEP_RECORD
from tests.support.tiny import arguments_of_run, finish_script


@pytest.fixture
def reports(tmp_path, monkeypatch):
    """A reports folder with one sweep: 1, 2 and 4 users wait 400, 800 and 2000 ms."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "reports" / "tiny"
    for number, (users, elapsed_ms) in enumerate(((1, 400), (2, 800), (4, 2000)), start=1):
        save_run(folder, f"run-07_{number}", users, elapsed_ms)
    save_record(tmp_path / "reports", SWEEP_RECORD)
    return tmp_path / "reports"


@pytest.fixture
def finished(home, tmp_path):
    """Run a command on the tiny plan to its end in this process; return its exit code and its output."""

    def to_the_end(script: str, *arguments: str, mode: str = "works", **environment: str) -> tuple[int, str]:
        return finish_script(script, arguments_of_run(home, tmp_path, arguments), tmp_path, mode, environment)

    return to_the_end
