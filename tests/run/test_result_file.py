"""The file that a run ends with, for whoever started it."""

import json

import pytest

from harness.base.errors import InvalidRunError, UsageError
from harness.run.directory import RunDirectory
from harness.run.result_file import ResultFile, RunEnd, read_end


@pytest.fixture
def path(tmp_path):
    return tmp_path / "result.json"


def test_a_finished_run_leaves_its_directory_verdict_reasons_and_exit_code(path, tmp_path):
    with ResultFile(path) as result:
        result.begin(RunDirectory(tmp_path / "tiny" / "run-07_1"))
        result.end("DOUBTFUL", ("too few samples",), 3, "not pushed: no such bucket")
    assert read_end(path) == RunEnd(
        run="tiny/run-07_1",
        verdict="DOUBTFUL",
        reasons=("too few samples",),
        exit_code=3,
        not_stored="not pushed: no such bucket",
    )
    assert [found.name for found in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize(
    ("error", "reason", "code"),
    [
        (UsageError("--plan=x: unknown", "give another"), "--plan=x: unknown; give another", 2),
        (InvalidRunError("its samples are gone"), "its samples are gone", 3),
        (KeyboardInterrupt(), "interrupted", 130),
        (ValueError("oops"), "an error of the harness itself: ValueError: oops", 70),
    ],
)
def test_an_error_that_ends_a_run_is_its_reason_and_is_raised(path, error, reason, code):
    with pytest.raises(type(error)), ResultFile(path):
        raise error
    assert read_end(path) == RunEnd(reasons=(reason,), exit_code=code)


def test_a_killed_run_has_its_directory_and_no_exit_code(path, tmp_path):
    ResultFile(path).begin(RunDirectory(tmp_path / "tiny" / "run-07_1"))
    assert read_end(path) == RunEnd(run="tiny/run-07_1")


def test_without_a_path_nothing_is_written_and_without_a_file_nothing_is_read(path, tmp_path):
    with ResultFile(None) as result:
        result.begin(RunDirectory(tmp_path / "tiny" / "run-07_1"))
    assert read_end(path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", [{"format_version": 2}, {"exit_code": "3"}, {"more": 1}])
def test_a_file_of_another_kind_is_refused(path, change):
    ResultFile(path).end("VALID", (), 0)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UsageError, match="result"):
        read_end(path)
