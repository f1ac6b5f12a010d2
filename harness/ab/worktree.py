"""Checks out the commits of an A/B test into worktrees below build/ab/, and builds what the sides run."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.ab.side import ReadySide, SideFiles
from harness.base import git
from harness.base import process as child
from harness.base.errors import HarnessError, StartError, UsageError
from harness.base.guardian import Guardian
from harness.base.log import log
from harness.base.once import has_stamp, lock, stamp_of
from harness.base.paths import shown
from harness.base.writable import writing_into
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


def checked_out(home: Path, commit: str, build: Path, environment: Mapping[str, str]) -> SideFiles:
    """Return the files of a commit, checked out now unless they were before; UsageError when git cannot."""
    files = files_of(home, commit, build)
    folder = files.build.parent
    tree, stamp, log_path = folder / "tree", folder / ".checked-out", folder / "checkout.log"
    with lock(folder.with_suffix(".lock"), f"commit {commit[:_NAME_LENGTH]}", log):
        if not (has_stamp(stamp, commit) and tree.is_dir()):
            log(f"commit {commit[:_NAME_LENGTH]}: checking it out into {shown(tree)}")
            shutil.rmtree(folder, ignore_errors=True)  # of a check-out that was interrupted
            command = git.safe_command(home, "worktree", "add", "--force", "--detach", str(tree), commit)
            _run("git worktree", command, home, {**git.safe_environment(), **environment}, log_path)
            with writing_into(folder):
                stamp.write_text(commit)
    return files


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
