"""With which earlier run a new one can be compared."""

import pytest

from harness.history.files import read_catalogue
from harness.history.references import previous_run
from harness.run.record import RUNNING
from tests.support.report_folder import add_run


def run(reports, number, **changes):
    changes = {"started_at": f"2026-01-{number:02}T00:00:00Z", **changes}
    add_run(reports, f"tiny/run-01_{number}", **changes)


def previous(reports, number):
    found = previous_run(read_catalogue(reports).entries, f"tiny/run-01_{number}")
    return found.name if found else None


@pytest.mark.real
def test_the_newest_earlier_run_is_taken_and_the_first_run_has_none(tmp_path):
    for number in (1, 2, 3):
        run(tmp_path, number)
    add_run(tmp_path, "other/run-01_1", started_at="2026-01-03T00:00:00Z")
    assert [previous(tmp_path, number) for number in (1, 2, 3)] == [None, "run-01_1", "run-01_2"]
    assert previous_run(read_catalogue(tmp_path).entries, "tiny/run-09_1") is None


@pytest.mark.real
@pytest.mark.parametrize(
    "changes",
    [
        {"users": 3},
        {"profile": "staging"},
        {"target": "http://127.0.0.1:8080"},
        {"kept_up": True},
        {"failures": 120},
        {"interrupted": True},
        {"state": RUNNING},
        {"users": 3, "failures": 120},
    ],
)
def test_a_run_under_other_conditions_or_an_invalid_one_is_not_taken(tmp_path, changes):
    run(tmp_path, 1)
    run(tmp_path, 2, **changes)
    run(tmp_path, 3)
    assert previous(tmp_path, 3) == "run-01_1"
    assert previous(tmp_path, 2) is None


def test_a_valid_run_is_preferred_to_a_newer_doubtful_one(tmp_path):
    run(tmp_path, 1)
    run(tmp_path, 2, samples=60, seconds=120)  # DOUBTFUL: too few samples
    run(tmp_path, 3)
    assert previous(tmp_path, 3) == "run-01_1"
    assert previous(tmp_path, 2) == "run-01_1"
