"""The heat map of a run: all samples by time and response time, with the percentiles drawn on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from harness.metrics.heat_map import HeatMap
from harness.report.charts import svg
from harness.report.charts.axes import Axis, log_axis
from harness.report.charts.over_time import Frame, Series, framed_chart, known_runs, series_text
from harness.report.charts.svg import Cell, Key, Plot

# p50 has the colour of the text, p95 that of warnings: both differ from the shades behind them.
_LOOKS: tuple[tuple[int | str, str], ...] = (("ink", ""), (svg.WARNING, ""))


@dataclass(frozen=True)
class Cells:
    """A heat map whose first column begins at `from_s` after the load began."""

    from_s: float
    heat_map: HeatMap

    @property
    def greatest(self) -> int:
        """The greatest count of a cell."""
        return max(max(column, default=0) for column in self.heat_map.counts)

    @property
    def sample_count(self) -> int:
        """The number of samples in all cells."""
        return sum(map(sum, self.heat_map.counts))

    @property
    def middles_s(self) -> list[float]:
        """The middle of each column, in seconds after the load began."""
        step_s = self.heat_map.bucket_s
        return [self.from_s + step_s * (index + 0.5) for index in range(len(self.heat_map.columns))]

    @property
    def axis(self) -> Axis:
        """The logarithmic axis of response times; a whole millisecond is in the middle of its row."""
        edges_ms = self.heat_map.edges_ms
        return log_axis(edges_ms[0] - 0.5, edges_ms[-1] - 0.5)

    def to_plain(self) -> dict[str, Any]:
        """Return plain data by the names of the site's scripts."""
        heat = self.heat_map
        return {"from": self.from_s, "step": heat.bucket_s, "edges": heat.edges_ms, "columns": heat.counts}


def shade_of(count: int, greatest: int) -> int:
    """Return the shade of a cell with at least one sample, on a logarithmic scale: 0 is the lightest."""
    last = len(svg.SHADES) - 1
    return int(last * math.log(count) / math.log(greatest) + 1e-9) if greatest > 1 else last


def heat_chart(frame: Frame, cells: Cells, lines: Sequence[Series]) -> str:
    """Return the heat map with the lines of percentiles on it."""
    drawn = list(zip(lines, _LOOKS, strict=True))

    def draw(plot: Plot) -> list[str]:
        points = [
            ([(span.range.x, span.mean) for span in run], look) for line, look in drawn for run in known_runs(line)
        ]
        return [
            *plot.cells(_cells(cells)),
            *(plot.line(run, "", "", "halo") for run, _ in points if len(run) > 1),
            *(plot.line(run, *look) for run, look in points),
        ]

    keys = [svg.line_key(line.name, *look) for line, look in drawn] + [_shade_key(cells.greatest)]
    text = f"{cells.sample_count:,} samples. " + " ".join(map(series_text, lines))
    return framed_chart(frame, lines, keys, draw, text, cells.axis)


def _cells(cells: Cells) -> Iterator[Cell]:
    """Yield the cells with samples; neighbours of one shade in a column are one cell."""
    heat, greatest = cells.heat_map, cells.greatest
    rows = [(low - 0.5, high - 0.5) for low, high in pairwise(heat.edges_ms)]
    for index, column in enumerate(heat.counts):
        from_s = cells.from_s + index * heat.bucket_s
        shades = [shade_of(count, greatest) if count else None for count in column]
        first = 0
        for shade, same in groupby(shades):
            last = first + len(list(same)) - 1
            if shade is not None:
                yield Cell(from_s, from_s + heat.bucket_s, rows[first][0], rows[last][1], shade)
            first = last + 1


def _shade_key(greatest: int) -> Key:
    shades = range(len(svg.SHADES)) if greatest > 1 else [len(svg.SHADES) - 1]
    width = svg.SWATCH_PX / len(shades)

    def swatch(x: float, y: float) -> str:
        boxes = (svg.rectangle(x + n * width, y - 7, width, 14, f"cell c0 s{one}") for n, one in enumerate(shades))
        return "".join(boxes)

    return Key(f"1 to {greatest:,} samples" if greatest > 1 else "1 sample", swatch)
