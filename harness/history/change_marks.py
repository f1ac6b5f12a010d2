"""Draw and describe lasting changes in a history: position, size, and whether they are accepted."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.history.change_points import ChangePoint
from harness.metrics.metric import Metric
from harness.report.charts import svg
from harness.report.charts.svg import Plot

_TEXT_GAP_PX = 4


def size_text(change: ChangePoint, metric: Metric) -> str:
    """Return the size of a change: +21.3 %, for errors +0.50 points."""
    if metric.is_share:
        return f"{(change.after - change.before) * 100:+.2f} points"
    return "from 0" if change.ratio is None else f"{change.ratio * 100:+.1f} %"


def change_marks(
    plot: Plot, changes: Sequence[ChangePoint], accepted: Collection[int], metric: Metric, count: int
) -> list[str]:
    """Return a line at each change, with its size where there is room.

    `accepted` are the indexes where an accepted change begins; `count` is the number of values.
    """
    sizes = {change.index: size_text(change, metric) for change in changes}
    parts, free_px = [], 0.0
    for index in sorted({*sizes, *accepted}):
        if not 0 < index < count:
            continue
        x = plot.x_px(index - 0.5)
        text = ", ".join(filter(None, (sizes.get(index, ""), "accepted" if index in accepted else "")))
        parts.append(svg.straight(x, plot.top, x, plot.bottom, "mark"))
        width = svg.text_width(text)
        # The text is right of the line, or left of it when it would leave the plot.
        left = x + _TEXT_GAP_PX if x + _TEXT_GAP_PX + width <= svg.RIGHT else x - _TEXT_GAP_PX - width
        if left >= free_px:
            parts.append(svg.text(left, plot.top + svg.TEXT_PX, text, "muted"))
            free_px = max(x, left + width) + _TEXT_GAP_PX
    return parts
