"""A chart: an SVG file in the folder of a report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from defusedxml.ElementTree import fromstring

from harness.run.directory import write_whole

_SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Chart:
    """A chart: the name and the text of its file."""

    name: str
    svg: str

    @property
    def alternative(self) -> str:
        """The text alternative of the chart: its title and description."""
        root = fromstring(self.svg)
        return f"{root.findtext(f'{_SVG}title')}: {root.findtext(f'{_SVG}desc')}"


def write_charts(folder: Path, charts: Sequence[Chart], names: re.Pattern[str]) -> None:
    """Write the charts, and delete charts of an earlier report (files that match `names`) that no longer exist."""
    folder.mkdir(exist_ok=True)  # a run that exists only as JSON has none
    for chart in charts:
        write_whole(folder / chart.name, chart.svg)
    written = {chart.name for chart in charts}
    for path in folder.glob("*.svg"):
        if names.fullmatch(path.name) and path.name not in written:
            path.unlink()
