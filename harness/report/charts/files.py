"""Writes the charts of a report into its folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from harness.report.charts.chart import Chart
from harness.run.directory import write_whole


def write_charts(folder: Path, charts: Sequence[Chart], names: re.Pattern[str]) -> None:
    """Write the charts, and delete charts of an earlier report (files that match `names`) that no longer exist."""
    folder.mkdir(exist_ok=True)  # a run that exists only as JSON has none
    for chart in charts:
        write_whole(folder / chart.name, chart.svg)
    written = {chart.name for chart in charts}
    for path in folder.glob("*.svg"):
        if names.fullmatch(path.name) and path.name not in written:
            path.unlink()
