"""What is kept of files: until they change, and no longer."""

import json
import os
import time

import pytest

from harness.base import kept
from harness.base.kept import Kept, stamps


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "cache_folder", lambda: tmp_path / "cache")


def stored(tmp_path, **data):
    keeper = Kept("runs", tmp_path / "reports")
    for name, value in data.items():
        keeper.put(name, "made of this", value)
    keeper.write()


def test_data_are_kept_while_they_are_made_of_the_same(tmp_path):
    stored(tmp_path, one={"a": [1, None, "ü"]})
    keeper = Kept("runs", tmp_path / "reports")
    assert keeper.get("one", "made of this") == {"a": [1, None, "ü"]}
    assert keeper.get("one", "made of that") is None
    assert keeper.get("two", "made of this") is None
    assert Kept("runs", tmp_path / "others").get("one", "made of this") is None
    assert Kept("site", tmp_path / "reports").get("one", "made of this") is None


def test_what_no_command_asks_for_is_forgotten(tmp_path):
    stored(tmp_path, one=1, two=2)
    keeper = Kept("runs", tmp_path / "reports")
    keeper.get("two", "made of this")
    keeper.write()
    again = Kept("runs", tmp_path / "reports")
    assert (again.get("one", "made of this"), again.get("two", "made of this")) == (None, 2)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"of": 1}', '{"of": "VERSION", "kept": []}', "[" * 100_000])
def test_a_damaged_file_is_as_none(tmp_path, text):
    stored(tmp_path, one=1)
    (path,) = (tmp_path / "cache/kept").iterdir()
    path.write_text(text.replace("VERSION", kept.of_tool()))
    assert Kept("runs", tmp_path / "reports").get("one", "made of this") is None
    stored(tmp_path, one=2)
    assert Kept("runs", tmp_path / "reports").get("one", "made of this") == 2


def test_a_file_of_another_version_is_as_none(tmp_path):
    stored(tmp_path, one=1)
    (path,) = (tmp_path / "cache/kept").iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"of": "another"}))
    assert Kept("runs", tmp_path / "reports").get("one", "made of this") is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "cache").write_text("a file")
    stored(tmp_path, one=1)
    assert Kept("runs", tmp_path / "reports").get("one", "made of this") is None


def test_what_was_not_used_for_a_month_is_removed(tmp_path):
    stored(tmp_path, one=1)
    (path,) = (tmp_path / "cache/kept").iterdir()
    os.utime(path, (0, time.time() - 31 * 86_400))
    Kept("site", tmp_path).write()  # nothing changed: nothing is looked at
    assert path.exists()
    keeper = Kept("site", tmp_path)
    keeper.put("page", 1, 2)
    keeper.write()
    assert not path.exists()


def test_a_stamp_changes_with_each_change_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "_YOUNG_NS", -(10**9))
    path = tmp_path / "run.json"
    seen = [stamps([path])]
    path.write_text("a")
    seen.append(stamps([path]))
    time.sleep(0.02)
    path.write_text("b")  # the same length
    os.utime(path, (0, 0))
    seen.append(stamps([path]))
    time.sleep(0.02)
    path.write_text("c")
    os.utime(path, (0, 0))  # the same time
    seen.append(stamps([path]))
    assert seen[0] == [None]
    assert len({str(one) for one in seen}) == 4


def test_a_file_that_may_be_changing_has_no_stamp(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("a")
    assert stamps([path]) is None
