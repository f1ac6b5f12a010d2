"""git reads a repository that somebody else packed without starting any of the programs that it names."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.base import git
from harness.base.guardian import Guardian
from harness.experiment.worktree import checked_out

# Settings that name a program, and those that make git use it.
_PROGRAMS = (
    "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy", "diff.external",
    "gpg.program", "gpg.ssh.program", "credential.helper", "core.alternateRefsCommand", "uploadpack.packObjectsHook",
    "filter.evil.clean", "filter.evil.smudge", "filter.other.process", "diff.evil.textconv", "diff.evil.command",
    "merge.evil.driver", "alias.status", "alias.log", "pager.log", "remote.origin.uploadpack",
)  # fmt: skip
_SWITCHES = {
    "log.showSignature": "true", "filter.other.required": "true", "remote.origin.promisor": "true",
    "remote.origin.partialclonefilter": "blob:none", "protocol.ext.allow": "always", "submodule.recurse": "true",
}  # fmt: skip
_HOOKS = ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman")


def _run(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits and, in its own configuration and hooks, a program in every place."""
    root = tmp_path_factory.mktemp("packed")
    mark = f"touch '{root}/'marker-$$; cat; false"
    _run(root, "init", "--quiet", "--initial-branch=main")
    for name, value in (("user.name", "x"), ("user.email", "x@example.org")):
        _run(root, "config", name, value)
    (root / ".gitattributes").write_text("*.jmx filter=evil diff=evil merge=evil\n*.csv filter=other\n")
    for text in ("first", "second"):
        for name in ("shop.jmx", "users.csv"):
            (root / name).write_text(text)
        _run(root, "add", ".")
        _run(root, "commit", "--quiet", "-m", text)
    included = root / ".git" / "more"
    for name in _PROGRAMS:
        value = f"!{mark}" if name.startswith(("alias", "credential")) else mark
        file = included if name.startswith("filter") else root / ".git" / "config"
        _run(root, "config", "--file", str(file), name, value)
    for name, value in _SWITCHES.items():
        _run(root, "config", name, value)
    _run(root, "config", "remote.origin.url", f"ext::sh -c touch% {root}/marker-remote")
    _run(root, "config", "include.path", "more")
    for name in _HOOKS:
        hook = root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{mark}\n")
        hook.chmod(0o755)
    for name in ("shop.jmx", "users.csv"):  # git compares the content of a file whose time has changed
        (root / name).write_text("second")
        os.utime(root / name, (1, 1))
    return root


def _markers(root: Path) -> list[str]:
    return sorted(path.name for path in root.glob("marker-*"))


@pytest.mark.real
def test_the_repository_would_start_programs(repository):
    subprocess.run(["git", "-C", repository, "status"], capture_output=True, check=False)
    assert _markers(repository)
    for path in repository.glob("marker-*"):
        path.unlink()


def test_no_question_to_git_starts_a_program(repository, tmp_path):
    first, second = _hashes(repository)
    assert git.facts(repository).commit == second
    assert git.commits_since(repository, first, 5).count == 1
    assert [one.text for one in git.first_parents(repository, first, second)] == ["second"]
    assert git.subject_of(repository, first) == "first"
    assert git.commit_of(repository, "main") == second
    assert git.folder_in_checkout(repository) == ""
    assert git.changed_files(repository, first, second, "*.jmx") == ("shop.jmx",)
    assert git.merge_base(repository, first, second) == first
    assert git.commit_of(repository, "0123456789012345678901234567890123456789") is None  # nothing is fetched
    git.write_version(repository, first, "shop.jmx", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "first"
    assert git.set_local(repository, "diff.jmx.xfuncname", "x")
    assert _markers(repository) == []


@pytest.mark.real
def test_neither_does_the_check_out_of_a_commit(repository, tmp_path):
    first, _ = _hashes(repository)
    with Guardian() as guardian:
        files = checked_out(repository, first, tmp_path, guardian)
    assert (files.home / "shop.jmx").read_text() == "first"
    assert _markers(repository) == []


def test_a_folder_that_only_looks_like_a_repository_is_none(tmp_path):
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path], check=True)
    assert git.facts(tmp_path).commit is None


def test_an_unchanged_repository_is_unchanged(repository):
    assert git.facts(repository).is_changed is False
    (repository / "shop.jmx").write_text("third")
    assert git.facts(repository).is_changed is True
    (repository / "shop.jmx").write_text("second")


def _hashes(root: Path) -> list[str]:
    done = subprocess.run(
        ["git", "-C", root, "-c", "log.showSignature=false", "rev-list", "--reverse", "main"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.split()


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Return a function that names the questions to git so far; with `old` git is one that knows no scopes."""
    log, real = tmp_path / "asked", shutil.which("git")
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\necho \"$@\" >> '{log}'\n"
        f'case "$OLD $*" in 1*--show-scope*) echo "unknown option" >&2; exit 129;; esac\nexec {real} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return lambda: log.read_text().splitlines()


def _switched_off(root):
    words = git.safe_command(root, "status")
    return {word for word in words if word.startswith(("filter.", "diff.evil", "diff.mine", "merge."))}


def test_the_drivers_of_the_repository_are_switched_off_after_one_question(repository, asked, tmp_path, monkeypatch):
    (tmp_path / "mine").write_text('[filter "lfs"]\n\tclean = git-lfs clean\n[diff "mine"]\n\tcommand = less\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "mine"))
    own = {
        "filter.evil.clean=", "filter.evil.smudge=", "filter.other.process=", "filter.other.required=false",
        "diff.evil.textconv=", "diff.evil.command=", "merge.evil.driver=",
    }  # fmt: skip
    assert _switched_off(repository) == own
    assert len(asked()) == 1
    monkeypatch.setenv("OLD", "1")
    assert _switched_off(repository) == own | {"filter.lfs.clean=", "diff.mine.command="}
    assert len(asked()) == 3


def test_the_drivers_of_a_worktree_are_switched_off(tmp_path):
    _run(tmp_path, "init", "--quiet")
    _run(tmp_path, "config", "extensions.worktreeConfig", "true")
    _run(tmp_path, "config", "--worktree", "filter.tree.clean", "touch marker")
    assert _switched_off(tmp_path) == {"filter.tree.clean="}


def test_outside_of_a_repository_there_is_nothing_to_switch_off(tmp_path):
    assert _switched_off(tmp_path) == _switched_off(tmp_path / "none") == set()
