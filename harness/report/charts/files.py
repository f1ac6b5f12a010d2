"""Writes the charts of a report into the folder that belongs to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from harness.report.charts.gallery import Picture
from harness.run.directory import write_whole


def write_pictures(folder: Path, pictures: Sequence[Picture], names: re.Pattern[str]) -> None:
    """Write the charts; those of an earlier report, told by their `names`, that nothing is shown in any more go."""
    folder.mkdir(exist_ok=True)  # of a run that came as JSON alone there is none
    for picture in pictures:
        write_whole(folder / picture.name, picture.svg)
    kept = {picture.name for picture in pictures}
    for path in folder.glob("*.svg"):
        if names.fullmatch(path.name) and path.name not in kept:
            path.unlink()
