"""Facts about the host and the checkout that stand in every run.json."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import psutil

from harness.nightly.record import Commits
from harness.run.record import HostRecord

_GIT_TIMEOUT_S = 10


def host_facts() -> HostRecord:
    """Return the host's CPU, memory, kernel and Python; no host name, so that reports can be shared."""
    return HostRecord(
        cpu_model=_cpu_model(),
        cpu_count=usable_cores(),
        memory_bytes=psutil.virtual_memory().total,
        kernel=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
    )


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else psutil.cpu_count() or 1


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def git_facts(root: Path) -> tuple[str | None, bool | None]:
    """Return the commit of the checkout and whether tracked files were changed; (None, None) outside git."""
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None:
        return None, None
    return commit, bool(_git(root, "status", "--porcelain", "--untracked-files=no"))


def commits_since(root: Path, commit: str, most: int) -> Commits | None:
    """Return what was committed after a commit, the newest `most` in words; None when git does not know it (any more).

    A commit that is not an ancestor, as after a rebase, has no such range that would be worth to be read.
    """
    if _git(root, "merge-base", "--is-ancestor", commit, "HEAD") is None:
        return None
    subjects = (_git(root, "log", "--format=%h %s", f"{commit}..HEAD") or "").splitlines()
    return Commits(commit, len(subjects), tuple(subjects[:most])) if subjects else None


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
