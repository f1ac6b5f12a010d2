"""When `scripts/bench memory` takes all users of a run for active."""

import os

import pytest

from bench.runs.memory import users_there

HEAD = "timeStamp,elapsed,label,allThreads,Connect\n"


@pytest.mark.parametrize(
    ("rows", "users"),
    [("", 0), ("1,5,Pay,12,0\n2,5,Pay,550,1\n", 550), ("1,5,Pay,12,0\n2,5,Pay,5", 12), ("1,5,Pay,7,0\n" * 1000, 7)],
)
def test_the_users_of_a_run_are_those_of_its_last_whole_row(rows, users, tmp_path):
    assert users_there(tmp_path) == 0
    earlier, newest = (tmp_path / "reports" / "lb" / f"run-{number}" for number in (1, 2))
    for folder, text in ((earlier, "1,5,Pay,900,0\n"), (newest, rows)):
        folder.mkdir(parents=True)
        (folder / "samples.jtl").write_text(HEAD + text)
    os.utime(earlier / "samples.jtl", (1, 1))
    assert users_there(tmp_path) == users
