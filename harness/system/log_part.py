"""Copies the part of a system's logs that belongs to one run, when the system stays up for several runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path


def log_ends(folder: Path) -> Mapping[str, int]:
    """Return the size in bytes of every log in `folder` by name: the next run's part begins there."""
    return {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}


def copy_new_lines(folder: Path, ends: Mapping[str, int], target: Path, leave_out: Iterable[Path] = ()) -> None:
    """Copy what was added to the logs in `folder` since `ends` to `target`; a log that shrank is copied whole.

    A log without new lines becomes an empty file, which shows that nothing was logged. `leave_out` are files that are
    not logs.
    """
    target.mkdir(parents=True, exist_ok=True)
    for name, size in log_ends(folder).items():
        path = folder / name
        if path in set(leave_out):
            continue
        begin = ends.get(name, 0)
        with path.open("rb") as log, (target / name).open("wb") as out:
            log.seek(begin if begin <= size else 0)
            shutil.copyfileobj(log, out)
