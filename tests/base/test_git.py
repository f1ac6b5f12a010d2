"""A name that git would read as an option is a name: it writes no file and starts no program."""

import subprocess

import pytest

from harness.base import git

CALLS = {
    "commits_since": lambda root, name, _: git.commits_since(root, name, 5),
    "first_parents": lambda root, name, _: git.first_parents(root, name, "HEAD"),
    "first_parents to": lambda root, name, _: git.first_parents(root, "HEAD~1", name),
    "subject_of": lambda root, name, _: git.subject_of(root, name),
    "commit_of": lambda root, name, _: git.commit_of(root, name),
    "changed_files": lambda root, name, _: git.changed_files(root, name, "HEAD", "*.jmx"),
    "merge_base": lambda root, name, _: git.merge_base(root, name, "HEAD"),
    "write_version": lambda root, name, out: git.write_version(root, name, "a", out) or out.read_text(),
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")

    def run(*words):
        identity = ("-c", "user.name=A", "-c", "user.email=a@b.example")
        subprocess.run(["git", "-C", root, *identity, *words], check=True, capture_output=True)

    run("init", "-q")
    for number in range(2):
        (root / "a").write_text(str(number))
        run("add", "a")
        run("commit", "-q", "-m", f"change {number}")
    return root


@pytest.mark.real
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_name_that_looks_like_an_option_is_no_option(call, repository, tmp_path):
    mark = tmp_path / "mark"
    before = sorted(repository.rglob("*"))
    options = (
        f"--output={mark}",
        f"--upload-pack=touch {mark}",
        "--all",
        "-p",
        f"--ext-diff --output={mark}",
        "--batch",
    )
    for option in options:
        assert not call(repository, option, tmp_path / "out")
    assert not mark.exists()
    assert sorted(repository.rglob("*")) == before


@pytest.mark.real
def test_names_of_commits_are_found_as_before(repository, tmp_path):
    assert git.commits_since(repository, "HEAD~1", 5).subjects[0].endswith(" change 1")
    assert [one.text for one in git.first_parents(repository, "HEAD~1", "HEAD")] == ["change 1"]
    assert git.subject_of(repository, "HEAD~1") == "change 0"
    assert git.changed_files(repository, "HEAD~1", "HEAD", "a") == ("a",)
    assert git.merge_base(repository, "HEAD~1", "HEAD") == git.commit_of(repository, "HEAD~1")
    git.write_version(repository, "HEAD~1", "a", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "0"
    assert git.set_local(repository, "x.y", "-z")
