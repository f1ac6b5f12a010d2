"""Finds the runs in parts whose launcher was killed: they are running by their run.json, and nothing locks them."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.run.directory import RunDirectory
from harness.run.parts.places import Place
from harness.run.record import RUNNING, RunRecord


def left_runs(places: Sequence[Place], folder: Path, command: str) -> Iterator[tuple[RunDirectory, RunRecord]]:
    """Yield the runs of this command in a plan's folder whose launcher was killed; each is locked meanwhile."""
    paths = sorted(folder.glob("run-*")) if places else []  # every run begins with this look
    for directory in (RunDirectory(path) for path in paths if path.is_dir()):
        run = directory.read_run()
        if run is None or run.state != RUNNING or run.command != command:
            continue
        if [one.name for one in run.generators if one.machine] == [place.name for place in places]:
            with contextlib.suppress(BlockingIOError), locked(directory.path):  # else its launcher lives
                yield directory, run


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a run directory, which says that its launcher lives; BlockingIOError when another one has it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
