"""Small charts of a run's labels, side by side: p50 and p95 over the measurement window, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from harness.base import units
from harness.metrics.batches import Batches
from harness.metrics.figures import LabelFigures
from harness.metrics.metric import MEDIAN, P95
from harness.report.charts import svg
from harness.report.charts.axes import log_axis, time_axis
from harness.report.charts.over_time import AFTER_START, Series, known_runs, series_text
from harness.report.charts.svg import Plot

_PANELS_MOST, _ACROSS, _TICKS_MOST = 12, 2, 4
_GAP_PX, _HEAD_PX, _PANEL_PX = 48, 26, 96  # the gap has room for the texts of two ticks
_LOOKS: tuple[tuple[int, str], ...] = ((svg.MAIN, ""), (svg.WARNING, svg.DASHES[1]))


class Panel(NamedTuple):
    """A label and its metrics in the batches of the window."""

    name: str
    batches: Batches

    def lines(self, from_s: float) -> list[Series]:
        """Return p50 and p95 of each batch; the first batch begins at `from_s`."""
        length_s, percentiles = self.batches.length_s, self.batches.percentiles_ms
        return [
            Series(
                metric.name,
                tuple((from_s + (index + 0.5) * length_s, value) for index, value in enumerate(percentiles[metric.id])),
            )
            for metric in (MEDIAN, P95)
        ]


def panels_of(labels: Sequence[LabelFigures]) -> list[Panel]:
    """Return the labels to draw: at most 12, those with most samples, in the order of the tables."""
    known = [label for label in labels if label.batches]
    most = sorted(known, key=lambda label: -label.sample_count)[:_PANELS_MOST]
    return [Panel(label.label, label.batches) for label in known if label in most and label.batches]


def label_charts(title: str, panels: Sequence[Panel], from_s: float) -> str:
    """Return the small charts; their axes are equal, and response times are logarithmic."""
    lines = [panel.lines(from_s) for panel in panels]
    batches = panels[0].batches
    values = [value for of_panel in lines for line in of_panel for value in line.values]
    y = log_axis(min(values) * 0.9, max(1.0, max(values) * 1.1))  # all are 0 ms where nothing listens
    to_s = from_s + batches.length_s * len(batches.sample_count)
    whole = time_axis([to_s], most=round(_TICKS_MOST * to_s / (to_s - from_s)))
    x = replace(whole, low=from_s, ticks=tuple(tick for tick in whole.ticks if tick[0] >= from_s))
    keys = [svg.line_key(metric.name, *look) for metric, look in zip((MEDIAN, P95), _LOOKS, strict=True)]
    legend = svg.legend(keys, svg.HEAD_PX)
    width = (svg.RIGHT - svg.LEFT - (_ACROSS - 1) * _GAP_PX) / _ACROSS
    body, bottom = [legend.rows], 0.0
    for index, (panel, drawn) in enumerate(zip(panels, lines, strict=True)):
        down, across = divmod(index, _ACROSS)
        left = svg.LEFT + across * (width + _GAP_PX)
        top = legend.end + down * (_HEAD_PX + _PANEL_PX) + _HEAD_PX
        bottom = top + _PANEL_PX
        plot = Plot(x, y, top, bottom, left, left + width)
        body += [
            svg.text(left, top - 7, svg.shortened(panel.name, width)),
            plot.grid(has_texts=across == 0),
            *([plot.x_ticks()] if index + _ACROSS >= len(panels) else []),
        ]
        for line, look in zip(drawn, _LOOKS, strict=True):
            body += [plot.line([(span.range.x, span.mean) for span in run], *look) for run in known_runs(line)]
    every = units.duration_text(batches.length_s)
    body.append(svg.text((svg.LEFT + svg.RIGHT) / 2, bottom + 44, f"{AFTER_START}, {x.unit}", "muted middle"))
    about = " ".join(
        f"{panel.name}: {' '.join(map(series_text, drawn))}" for panel, drawn in zip(panels, lines, strict=True)
    )
    unit = f"ms, logarithmic, every {every}"
    return svg.document(title, unit, f"{unit}, in the measurement window. {about}", bottom + svg.FOOT_PX, body)
