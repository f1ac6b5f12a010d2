"""What was logged during one run by a system that stays up for several."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path


def log_ends(folder: Path) -> Mapping[str, int]:
    """Return the size in bytes of every log in `folder`, by its name: where the next stretch begins."""
    return {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}


def copy_stretch(folder: Path, ends: Mapping[str, int], target: Path, leave_out: Iterable[Path] = ()) -> None:
    """Copy to `target` what the logs in `folder` hold behind `ends`; one that shrank was begun anew and counts whole.

    A log without a new line leaves an empty file: that it is there says that nothing was logged. `leave_out` are files
    that are no logs.
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
