"""Finds which processes of a run have a socket: JMeter, what it started, and what was started in its session."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

_PROC = Path("/proc")
_SOCKET = "socket:["
_PR_SET_CHILD_SUBREAPER = 36  # from linux/prctl.h
# Of /proc/<pid>/stat, counting from the state field.
_PARENT, _SESSION = 1, 3


def keeping_descendants() -> Callable[[], None]:
    """Return what a child calls before it becomes its program: all that it starts then stays below it.

    A process whose parent has ended is otherwise a child of the machine's first process.
    """
    if sys.platform != "linux":
        return lambda: None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def family(root: int, marker: str) -> list[int]:
    """Return the processes in the session of `root`, descendants, and those with `marker` in their environment."""
    parents, sessions = dict[int, int](), dict[int, int]()
    for pid in _pids():
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
            parents[pid], sessions[pid] = int(fields[_PARENT]), int(fields[_SESSION])
    return [pid for pid in parents if _is_of(pid, root, parents, sessions) or _is_marked(pid, marker)]


def _is_of(pid: int, root: int, parents: Mapping[int, int], sessions: Mapping[int, int]) -> bool:
    for _ in range(len(parents)):
        if root in (pid, sessions.get(pid)):
            return True
        if pid not in parents:
            return False
        pid = parents[pid]
    return False


def _is_marked(pid: int, marker: str) -> bool:
    with contextlib.suppress(OSError):
        return marker.encode() in (_PROC / str(pid) / "environ").read_bytes()
    return False


def owners(inodes: Collection[int], pids: Collection[int]) -> dict[int, int]:
    """Return a process that has it for each socket that one of the processes has."""
    names = {f"{_SOCKET}{inode}]": inode for inode in inodes}
    holders: dict[int, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(_PROC / str(pid) / "fd") as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    inode = names.get(str(Path(entry.path).readlink()))
                    if inode is not None:
                        holders[inode] = pid
        if len(holders) == len(names):
            break
    return holders


def program(pid: int) -> str:
    """Return the name of a process's program; empty when it has ended."""
    with contextlib.suppress(OSError):
        return (_PROC / str(pid) / "comm").read_text(errors="replace").strip()
    return ""


def _pids() -> Iterator[int]:
    return (int(one.name) for one in _PROC.iterdir() if one.name.isdigit())
