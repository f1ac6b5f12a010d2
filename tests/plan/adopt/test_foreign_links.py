"""`init` in a folder that somebody else has packed writes no file outside of it, and no secret into git."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from tests.support.off_host import element, jmx, request, text, variables

CURL = "curl -H 'Authorization: Bearer abcdefghijklmnop1234' http://127.0.0.1:9/x"
Init = Callable[..., None]
# What init writes, as a link that leads out of the folder.
FILES = ("secrets.toml", "plans/shop.jmx", "plans/shop.toml", "plans/data/shop/rows.csv", ".gitignore")
FOLDERS = ("plans/data/shop", "plans/data", "plans", ".lth", ".lth/init")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "loadtest.toml").write_text("format_version = 1\n")
    return theirs


@pytest.fixture
def init(tmp_path: Path, folder: Path) -> Init:
    def init(*words: str) -> None:
        assert main(["init", *words, "--force", f"--home={folder}"], "lth") == 0

    (tmp_path / "shop.jmx").write_text(
        jmx(
            element("CSVDataSet", "Rows", text("filename", "rows.csv"), text("variableNames", "id")) + request(),
            variables(password="opensesame"),
        )
    )
    return init


def everything(folder: Path) -> dict[str, bytes | None]:
    """The files and folders below a folder."""
    return {str(one.relative_to(folder)): one.read_bytes() if one.is_file() else None for one in folder.rglob("*")}


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "not there"])
@pytest.mark.parametrize("name", [*FILES, *FOLDERS])
def test_a_link_out_of_the_folder_is_not_written_through(tmp_path, folder, init, name, is_there):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if is_there and name in FILES:
        (elsewhere / "target").write_text("mine\n")
    elif is_there:
        (elsewhere / "target").mkdir()
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).symlink_to(elsewhere / "target")
    before = everything(elsewhere)
    with pytest.raises(UsageError, match=r"leads to .*target.*, outside of "):
        init(str(tmp_path / "shop.jmx"), "--fix")
    assert everything(elsewhere) == before


def test_a_link_within_the_folder_is(tmp_path, folder, init):
    (folder / "own").mkdir()
    (folder / "plans").symlink_to("own")
    init(str(tmp_path / "shop.jmx"), "--fix")
    assert (folder / "own" / "shop.toml").is_file()


IGNORED = {
    "no .gitignore": None, "another .gitignore": "node_modules", "one that has it": "secrets.toml\n",
    "one that takes it back": "secrets.toml\n!secrets.toml\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", IGNORED)
@pytest.mark.parametrize("given", ["a curl command", "a JMX"])
def test_git_ignores_the_secrets_of_a_new_plan(tmp_path, folder, init, kind, given, capsys):
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout

    git("init", "--quiet")
    if lines := IGNORED[kind]:
        (folder / ".gitignore").write_text(lines)
    init(*(["--curl", CURL, "shop"] if given == "a curl command" else [str(tmp_path / "shop.jmx"), "--fix"]))
    assert "secrets.toml, which git ignores, has the values of: SHOP_" in capsys.readouterr().out
    git("add", ".")
    assert "plans/shop.jmx" in git("ls-files")
    assert "secrets.toml" not in git("ls-files")
    assert (folder / ".gitignore").read_text().startswith(lines or "#")


def test_a_file_of_secrets_that_git_has_gets_none(folder, init):
    (folder / "secrets.toml").write_text("format_version = 1\n")
    for words in (["init", "--quiet"], ["add", "--force", "secrets.toml"]):
        subprocess.run(["git", "-C", folder, *words], check=True)
    with pytest.raises(UsageError, match=r"secrets\.toml is in git; take it out: git rm --cached secrets\.toml"):
        init("--curl", CURL, "shop")
    assert (folder / "secrets.toml").read_text() == "format_version = 1\n"
