"""Facts about a git checkout: its commit, and what was committed since an earlier one."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from harness import __version__
from harness.base.project import CHECKOUT, NAME

_TIMEOUT_S = 10
# A repository's own configuration and hooks may name programs; a folder that somebody else packed starts none of them.
_SAFE = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.sshCommand=false", "core.gitProxy=", "core.askPass=",
    "core.pager=cat", "core.editor=false", "core.alternateRefsCommand=false", "core.attributesFile=/dev/null",
    "diff.external=", "credential.helper=", "gpg.program=false", "gpg.ssh.program=false", "gpg.x509.program=false",
    "log.showSignature=false", "maintenance.auto=false", "gc.auto=0", "submodule.recurse=false",
    "safe.bareRepository=explicit", "protocol.allow=never",
)  # fmt: skip
# It does not write the index, asks nothing, and fetches nothing that is missing, whatever a remote's address would run.
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
}  # fmt: skip
# Programs of a repository that change its files: a filter of .gitattributes, and how it shows a kind of files.
_DRIVER = re.compile(r"((?:filter|diff|merge)\..+)\.(clean|smudge|process|textconv|command|driver|required)")


_STATUS = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty")


@dataclass(frozen=True)
class Commits:
    """The commits since an earlier one: that commit, how many follow, and the subjects of the newest."""

    since: str
    count: int
    subjects: tuple[str, ...]


class CommitSubject(NamedTuple):
    """A commit, and the first line of its message."""

    commit: str
    text: str


@dataclass(frozen=True)
class Checkout:
    """The commit of a checkout, and whether tracked files outside reports/ were changed; None outside git."""

    commit: str | None
    is_changed: bool | None


def version_text() -> str:
    """Return the version of the tool, with the commit of a checkout, or of what pip installed from a repository."""
    commit = facts(CHECKOUT).commit if CHECKOUT else _installed_commit()
    return f"{__version__} (commit {commit[:10]})" if commit else __version__


def _installed_commit() -> str | None:
    """Return the commit that pip recorded: https://packaging.python.org/specifications/direct-url."""
    import importlib.metadata  # here, because every start would wait for them
    import json

    try:
        text = importlib.metadata.distribution(NAME).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    commit = json.loads(text or "{}").get("vcs_info", {}).get("commit_id")
    return str(commit) if commit else None


def facts(root: Path) -> Checkout:
    """Return the facts of the checkout in `root`."""
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None:
        return Checkout(None, None)
    return Checkout(commit, bool(_git(root, *_STATUS, "--", ".", ":(exclude)reports")))


def commits_since(root: Path, commit: str, most: int) -> Commits | None:
    """Return the commits after a commit, with the subjects of the newest `most`; None when git does not know it.

    A commit that is not an ancestor, as after a rebase, has no useful range.
    """
    if _git(root, "merge-base", "--is-ancestor", names=(commit, "HEAD")) is None:
        return None
    subjects = (_git(root, "log", "--format=%h %s", names=(f"{commit}..HEAD",)) or "").splitlines()
    return Commits(commit, len(subjects), tuple(subjects[:most])) if subjects else None


def first_parents(root: Path, good: str, bad: str) -> list[CommitSubject] | None:
    """Return the commits after `good` up to `bad`, oldest first, along first parents; None unless one leads there."""
    if _git(root, "merge-base", "--is-ancestor", names=(good, bad)) is None:
        return None
    names = (f"{good}..{bad}",)
    lines = (_git(root, "log", "--first-parent", "--reverse", "--format=%H %s", names=names) or "").splitlines()
    return [CommitSubject(*line.partition(" ")[::2]) for line in lines]


def subject_of(root: Path, commit: str) -> str:
    """Return the first line of a commit's message; empty when git does not know it."""
    return _git(root, "log", "-1", "--format=%s", names=(commit,)) or ""


def commit_of(root: Path, name: str) -> str | None:
    """Return the commit of a branch, tag or commit's name; None when git does not know it, or outside git."""
    return _git(root, "rev-parse", "--verify", "--quiet", names=(f"{name}^{{commit}}",))


def folder_in_checkout(root: Path) -> str:
    """Return the path of `root` below the top folder of its checkout; empty for the top folder, and outside git."""
    return _git(root, "rev-parse", "--show-prefix") or ""


def has_same(root: Path, commit: str, *names: str) -> bool:
    """Return whether files and folders of `root` are as in a commit."""
    return _git(root, "diff", "--no-ext-diff", "--quiet", names=(commit, "--", *names)) is not None


def is_tracked(root: Path, name: str) -> bool:
    """Return whether git has a file of `root`; false outside git."""
    return _git(root, "ls-files", "--error-unmatch", names=(name,)) is not None


def is_ignored(root: Path, name: str) -> bool | None:
    """Return whether git ignores a file of `root`; None outside git."""
    if _git(root, "rev-parse", "--is-inside-work-tree") != "true":
        return None
    return _git(root, "check-ignore", "--quiet", names=(name,)) is not None


def worktree_entry(tree: Path) -> Path | None:
    """Return the folder in which a repository has its facts about a worktree; None for any other folder."""
    found = _git(tree, "rev-parse", "--absolute-git-dir") if (tree / ".git").is_file() else None
    return Path(found) if found and Path(found).parent.name == "worktrees" else None


def changed_files(root: Path, base: str, head: str, pattern: str) -> tuple[str, ...]:
    """Return the files with a name that two commits have and that differ, relative to the top folder.

    `pattern` is that of their names. Empty when git does not know a commit.
    """
    drivers = ("--no-ext-diff", "--no-textconv")
    options = (*drivers, "--name-only", "-z", "--no-renames", "--diff-filter=M")
    found = _git(root, "diff", *options, names=(base, head, "--", f":(top,glob)**/{pattern}"))
    return tuple(filter(None, (found or "").split("\0")))


def merge_base(root: Path, one: str, other: str) -> str | None:
    """Return the last common commit of two; None when git does not know them or they have none."""
    return _git(root, "merge-base", names=(one, other))


def write_version(root: Path, commit: str, name: str, file: Path) -> None:
    """Write the version of a file in a commit to another file; an empty one when git does not know it."""
    with file.open("wb") as out, suppress(OSError, subprocess.TimeoutExpired):
        if commit.startswith("-"):  # an option; cat-file has no end of them
            return
        command, environment = safe_command(root, "cat-file", "blob", f"{commit}:{name}"), safe_environment()
        quiet = subprocess.DEVNULL
        subprocess.run(command, stdout=out, stderr=quiet, timeout=_TIMEOUT_S, check=False, env=environment)


def set_local(root: Path, name: str, value: str) -> bool:
    """Set a value in the configuration of the repository that contains `root`; return whether that was possible."""
    return _git(root, "config", "--local", names=(name, value)) is not None


def forget_worktree(root: Path, tree: Path) -> None:
    """Unregister a worktree whose folder was removed, also one that git locked because it was killed within the add."""
    _git(root, "worktree", "remove", "--force", "--force", names=(str(tree),))


def safe_command(root: Path, *arguments: str) -> list[str]:
    """Return a command of git that runs no program of the repository in `root`; use it with `safe_environment`."""
    settings = (*_SAFE, *_without_drivers(root))
    return ["git", "-C", str(root), "--no-pager", *(word for one in settings for word in ("-c", one)), *arguments]


def safe_environment() -> Mapping[str, str]:
    """Return the environment in which a `safe_command` runs."""
    return {**os.environ, **_ENVIRONMENT}


def _without_drivers(root: Path) -> list[str]:
    """Return the settings that switch off the drivers of the repository itself; those of the user stay."""
    list_names = ["git", "-C", str(root), "config", "--list", "--includes", "--name-only", "-z"]
    listed = _output([*list_names, "--show-scope"])
    if listed is None:  # git before 2.26 knows no scopes: those of the user are switched off as well
        names = set((_output(list_names) or "").split("\0"))
    else:
        words = listed.split("\0")
        names = {name for scope, name in zip(words[::2], words[1::2], strict=False) if scope in ("local", "worktree")}
    drivers = [match for name in sorted(names) if (match := _DRIVER.fullmatch(name))]
    return [f"{match[0]}={'false' if match[2] == 'required' else ''}" for match in drivers]


def _git(root: Path, *arguments: str, names: tuple[str, ...] = ()) -> str | None:
    """Return what git prints, None when it fails. `names` are foreign texts: none of them is read as an option."""
    end = ("--end-of-options",) if names else ()
    output = _output(safe_command(root, *arguments, *end, *names))
    return None if output is None else output.strip()


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, env=safe_environment()
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
