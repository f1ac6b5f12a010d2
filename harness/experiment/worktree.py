"""Checks out the commits of an A/B test into worktrees below build/ab/, and builds what the sides run.

The files stay for the next test. The repository knows them as worktrees only while a test uses them: its guardian ends
that, also when the test is killed.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from harness.base import git
from harness.base import process as child
from harness.base.errors import HarnessError, StartError, UsageError
from harness.base.guardian import Guardian
from harness.base.log import log
from harness.base.once import has_stamp, lock, stamp_of
from harness.base.paths import shown
from harness.base.writable import writing_into
from harness.experiment.arguments import equal_load
from harness.experiment.sides import ReadySide, SideFiles, SideText, ready_side
from harness.system.supervisor import Supervisor

FOLDER = "ab"
_NAME_LENGTH = 12
_WORKING_COPY = "working copy"


def working_copy(home: Path, build: Path) -> SideFiles:
    """Return the files of a side without a commit: those in `home`, as they are now."""
    checkout = git.facts(home)
    commit = checkout.commit if checkout.is_changed is False else None
    return SideFiles(home, build, commit or _WORKING_COPY)


def files_of(home: Path, commit: str, build: Path) -> SideFiles:
    """Return where the files of a commit are once they are checked out.

    What the side builds is beside them: two commits do not replace each other's.
    """
    folder = build.resolve() / FOLDER / commit[:_NAME_LENGTH]
    return SideFiles(folder / "tree" / git.folder_in_checkout(home), folder / "build", commit, commit)


def checked_out(home: Path, commit: str, build: Path, guardian: Guardian) -> SideFiles:
    """Return the files of a commit, checked out now unless they were before; UsageError when git cannot."""
    files = files_of(home, commit, build)
    folder = files.build.parent
    tree, stamp, log_path = folder / "tree", folder / ".checked-out", folder / "checkout.log"
    with lock(folder.with_suffix(".lock"), f"commit {commit[:_NAME_LENGTH]}", log):
        if not (has_stamp(stamp, commit) and tree.is_dir()):
            log(f"commit {commit[:_NAME_LENGTH]}: checking it out into {shown(tree)}")
            shutil.rmtree(folder, ignore_errors=True)  # of a check-out that was interrupted
            git.forget_worktree(home, tree)
            _join(home, commit, tree, guardian, log_path)
            _git(tree, ["checkout", "--force", "--detach", commit], guardian, log_path)
            with writing_into(folder):
                stamp.write_text(commit)
        elif git.worktree_entry(tree) is None:
            _join(home, commit, tree, guardian, log_path)
            _git(tree, ["reset"], guardian, log_path)  # its files are there, the index is not
        if entry := git.worktree_entry(tree):
            guardian.remove_at_end(entry)
    return files


class KnownLoad(NamedTuple):
    """The length of the load of each run, s, and its plan."""

    length_s: float
    plan: str


def load_before_checkout(name: str, text: SideText, files: SideFiles, options: argparse.Namespace) -> KnownLoad | None:
    """Return the load of a side before its commit is checked out; None when only the commit's own files have it."""
    commit = git.commit_of(files.home, text.ref) if text.ref else None
    if text.ref and not (commit and (options.duration or git.has_same(files.home, commit, "plans", "env"))):
        return None
    try:
        plan = ready_side(name, replace(text, ref=None), options, files).request.plan
        length_s = equal_load(plan, options).duration_s
    except HarnessError:  # the working copy cannot run it; perhaps the commit can
        return None
    return KnownLoad(length_s, plan.name) if length_s else None


def _join(home: Path, commit: str, tree: Path, guardian: Guardian, log_path: Path) -> None:
    """Make a folder a worktree of the repository, without a change of its files.

    git creates worktrees only in empty folders. This one has been one before, or its files are still to be checked out.
    """
    empty = tree.with_name("empty")
    shutil.rmtree(empty, ignore_errors=True)
    git.forget_worktree(home, empty)  # git was killed within the add
    _git(home, ["worktree", "add", "--force", "--detach", "--no-checkout", str(empty), commit], guardian, log_path)
    entry = git.worktree_entry(empty)
    if entry is None:
        raise UsageError(f"commit {commit[:_NAME_LENGTH]}: git made no worktree", f"see {shown(log_path)}")
    guardian.remove_at_end(entry)
    with writing_into(tree.parent):
        tree.mkdir(exist_ok=True)
        (empty / ".git").replace(tree / ".git")
        empty.rmdir()
    _git(tree, ["worktree", "repair"], guardian, log_path)


def _git(folder: Path, arguments: Sequence[str], guardian: Guardian, log_path: Path) -> None:
    """Run git in a folder, without the programs that its repository names."""
    environment = {**git.safe_environment(), **guardian.environment}
    _run(f"git {arguments[0]}", git.safe_command(folder, *arguments), folder, environment, log_path)


def build_side(side: ReadySide, guardian: Guardian, run: Callable[[child.Launch], None] = child.run_or_fail) -> None:
    """Build a side: the profile's `build` command in a commit's files, then the preparation of its system.

    `run` runs the command, with a StartError when it fails. UsageError when either fails: nothing was measured yet.
    """
    try:
        command, stamp_file = side.request.profile.build, side.files.build.with_name(".built")
        stamp = stamp_of([], *command)
        if side.side.commit and command and not has_stamp(stamp_file, stamp):
            log_path = side.files.build.with_name("build.log")
            log(f"{side.title}: {' '.join(command)} (log: {shown(log_path)})")
            _run(command[0], command, side.files.home, guardian.environment, log_path, run)
            stamp_file.write_text(stamp)
        if side.request.target is None and side.request.manifest:
            build = side.files.build
            manifest, settings = side.request.manifest, side.request.settings
            system = Supervisor(manifest, settings, build_dir=build, log_dir=build / "logs", guardian=guardian)
            system.prepare(log)
    except HarnessError as error:
        raise UsageError(f"{side.title} does not build: {error.what}", error.todo) from None


def _run(
    name: str, command: Sequence[str], cwd: Path, environment: Mapping[str, str], log_path: Path,
    run: Callable[[child.Launch], None] = child.run_or_fail,
) -> None:  # fmt: skip
    """Run a command; UsageError with the last line of its log when it fails."""
    try:
        run(child.Launch(name, command, cwd, environment, log_path))
    except StartError as error:
        last = (error.detail.splitlines() or [""])[-1].strip()
        raise UsageError(": ".join(part for part in (error.what, last) if part), f"see {shown(log_path)}") from None
