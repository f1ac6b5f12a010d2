"""Which runs of a command are those whose launcher was killed."""

import pytest

from harness.run.parts.launchers import parse_places
from harness.run.parts.left import left_runs, locked
from harness.run.record import FINISHED, RUNNING, GeneratorRecord
from tests.support.report_folder import run_folder

COMMAND = "lth run tiny --on local:2"


def part(name):
    return GeneratorRecord(
        name=name, users=1, rate_per_s=None, jmeter="5.6.3", java="17", clock_ahead_ms=0, is_local=True, machine=name
    )


PARTS = (part("local-1"), part("local-2"))


@pytest.mark.parametrize(
    ("on", "changes", "is_left"),
    [
        ("local:2", {}, True),
        ("local:2", {"state": FINISHED}, False),
        ("local:2", {"command": "lth run tiny"}, False),
        ("local:3", {}, False),
        ("local:2", {"generators": ()}, False),
        ("", {"generators": ()}, False),
        ("", {"generators": (), "state": FINISHED}, False),
    ],
)
def test_only_a_running_run_of_this_command_with_these_parts_is_left(tmp_path, on, changes, is_left):
    run_folder(tmp_path, "tiny/run-01_1", **{"state": RUNNING, "command": COMMAND, "generators": PARTS, **changes})
    places = parse_places(on) if on else ()
    assert [run.name for _, run in left_runs(places, tmp_path / "tiny", COMMAND)] == (["run-01_1"] if is_left else [])


def test_a_run_whose_launcher_lives_is_not_left(tmp_path):
    directory = run_folder(tmp_path, "tiny/run-01_1", state=RUNNING, command=COMMAND, generators=PARTS)
    with locked(directory.path):
        assert not list(left_runs(parse_places("local:2"), tmp_path / "tiny", COMMAND))
