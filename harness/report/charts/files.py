"""Writes the charts of a report into its folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from harness.report.charts.gallery import Picture
from harness.run.directory import write_whole


def write_pictures(folder: Path, pictures: Sequence[Picture], names: re.Pattern[str]) -> None:
    """Write the charts, and delete charts of an earlier report (files that match `names`) that no longer exist."""
    folder.mkdir(exist_ok=True)  # a run that exists only as JSON has none
    for picture in pictures:
        write_whole(folder / picture.name, picture.svg)
    written = {picture.name for picture in pictures}
    for path in folder.glob("*.svg"):
        if names.fullmatch(path.name) and path.name not in written:
            path.unlink()
