"""A JMX of somebody else names files of this machine: only those of its own folder or work tree become its data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.plan.adopt.adopt import Adoption, adopt
from harness.plan.adopt.files import write_adopted
from harness.plan.adopt.toml_text import data_lines
from tests.support.off_host import element, jmx, request, script, text, variables

SECRET = "only-this-machine-knows"
# How a plan names a file: what it has beside its requests.
WAYS = {
    "CSV Data Set": lambda name: element("CSVDataSet", "Rows", text("filename", name), text("variableNames", "id")),
    "upload": lambda name: request(
        f'<elementProp name="HTTPsampler.Files" elementType="HTTPFileArgs"><collectionProp name="HTTPFileArgs.files">'
        f'<elementProp name="f" elementType="HTTPFileArg">{text("File.path", name)}</elementProp></collectionProp>'
        "</elementProp>"
    ),
    "__FileToString": lambda name: request(path=f"/a?${{__FileToString({name},,)}}"),
    "__StringFromFile": lambda name: request(path=f"/a?${{__StringFromFile({name},,,)}}"),
    "__CSVRead": lambda name: request(path=f"/a?${{__CSVRead({name},0)}}"),
    "variable": lambda name: variables(file=name),
    "script": lambda name: script("JSR223Sampler", "Read", f'new File("{name}").text'),
    "file of a script": lambda name: element("JSR223Sampler", "Run", text("filename", name)),
    "some uploads": lambda name: request(
        path=f"/a?${{__FileToString({name.rpartition('/')[0]}/${{name}}.{name.rpartition('.')[2]},,)}}"
    ),
}


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Return how a plan in `theirs` can name files that are not its own, by kind."""
    theirs = tmp_path / "theirs"
    for path in ("keys/id.txt", "theirs/.ssh/id.txt", "theirs/secrets.toml", "theirs/lists/rows.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(SECRET)
    (theirs / "link.txt").symlink_to(tmp_path / "keys" / "id.txt")
    (theirs / "links").symlink_to(tmp_path / "keys")
    yield {
        "absolute": f"{tmp_path}/keys/id.txt",
        "above": "../keys/id.txt",
        "hidden": ".ssh/id.txt",
        "link": "link.txt",
        "folder that is a link": "links/id.txt",
        "secrets": "secrets.toml",
    }


def adopted(tmp_path: Path, in_group: str) -> Adoption:
    (tmp_path / "theirs" / "own.jmx").write_text(jmx(request() + in_group))
    return adopt(tmp_path / "theirs" / "own.jmx", "shop", tmp_path / "mine" / "plans")


def data_of(tmp_path: Path, in_group: str) -> list[str]:
    """Return what is in the data files of the plan that is made of a JMX."""
    plans = tmp_path / "mine" / "plans"
    write_adopted(plans, "shop", adopted(tmp_path, in_group), "own.jmx")
    return [path.read_text() for path in plans.rglob("*") if path.is_file() and path.suffix not in (".jmx", ".toml")]


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_is_not_its_own_is_not_copied_into_a_plan(tmp_path, folders, way):
    for where, name in folders.items():
        found = data_of(tmp_path, WAYS[way](name))
        assert not [one for one in found if SECRET in one], where


@pytest.mark.usefixtures("folders")
@pytest.mark.parametrize("way", [way for way in WAYS if way != "variable"])
def test_a_file_of_its_own_folder_is(tmp_path, way):
    assert SECRET in data_of(tmp_path, WAYS[way]("lists/rows.txt"))


@pytest.mark.usefixtures("folders")
def test_a_file_of_its_work_tree_is(tmp_path):
    (tmp_path / ".git").mkdir()
    assert data_of(tmp_path, WAYS["upload"]("../keys/id.txt")) == [SECRET]


@pytest.mark.usefixtures("folders")
def test_a_home_is_no_work_tree_of_a_plan(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert SECRET not in data_of(tmp_path, WAYS["upload"]("../keys/id.txt"))


def test_the_sample_of_such_a_file_says_why_it_is_one(tmp_path, folders):
    name = folders["absolute"]
    (line,) = data_lines(adopted(tmp_path, WAYS["upload"](name)).data)
    why = f"{name} is not below the JMX's folder or work tree, or is hidden"
    assert line == f"plans/data/shop/id.txt: SAMPLE contents: replace them ({why})"
