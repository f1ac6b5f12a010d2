"""The trend of each plan in the index: p90 of its newest runs that can be compared, as a small chart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from markupsafe import Markup

from harness.compare.conditions import Conditions
from harness.history.catalogue import Entry
from harness.metrics.metric import METRICS
from harness.report.setup import load_text
from harness.report.verdict import DOUBTFUL

METRIC = next(metric for metric in METRICS if metric.percentile == "90")
POINTS_MOST = 30
_WIDTH, _HEIGHT, _EDGE = 220, 44, 5


@dataclass(frozen=True)
class Point:
    """A run of a trend: its value (ms), None when its times mean nothing, and whether it is VALID."""

    run: str
    state: str
    value: float | None
    is_valid: bool


@dataclass(frozen=True)
class Trend:
    """The newest runs of a plan under the conditions of its newest one, oldest first.

    `newest` and `before` are texts: the value of the newest run, and the median of the VALID runs before it.
    """

    plan: str
    load: str
    newest: str
    before: str
    chart: Markup


def trends(entries: Iterable[Entry]) -> tuple[Trend, ...]:
    """Return the trend of each plan that has a run with metrics, by the name of the plan."""
    plans: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.order_key):
        if entry.run and entry.result and entry.result.verdict:
            plans.setdefault(entry.plan, []).append(entry)
    return tuple(_trend(plan, plans[plan]) for plan in sorted(plans))


def _trend(plan: str, entries: Sequence[Entry]) -> Trend:
    last = entries[-1].run
    assert last
    alike = [entry for entry in entries if entry.run and Conditions.of(entry.run) == Conditions.of(last)]
    points = [_point(entry) for entry in alike[-POINTS_MOST:]]
    before = [point.value for point in points[:-1] if point.is_valid and point.value is not None]
    newest = points[-1]
    return Trend(
        plan=plan,
        load=load_text(last.load),
        newest=f"{_text(newest.value)}{'' if newest.is_valid else f', {newest.state}'}",
        before=f"{_text(median(before))} ({len(before)} VALID)" if before else "",
        chart=chart(points),
    )


def _point(entry: Entry) -> Point:
    result = entry.result
    assert result and result.verdict
    total, state = result.total, result.verdict.state
    # The response times of an INVALID run are often those of errors.
    is_known = total is not None and (result.is_valid or state == DOUBTFUL)
    return Point(entry.name, state, METRIC.of(total) if is_known and total else None, result.is_valid)


def _text(value: float | None) -> str:
    return "no value" if value is None else f"{METRIC.text(value)} {METRIC.unit}"


def chart(points: Sequence[Point]) -> Markup:
    """Return the points as SVG: the line connects VALID runs; others are rings, without a value crosses.

    The axis begins at 0, so that small differences look small.
    """
    most = max((point.value or 0.0 for point in points), default=0.0) or 1.0
    step = (_WIDTH - 2 * _EDGE) / max(1, len(points) - 1)
    low, high = _HEIGHT - _EDGE, _EDGE
    drawn = [
        (round(_EDGE + index * step, 1), round(low - (low - high) * (point.value or 0.0) / most, 1), point)
        for index, point in enumerate(points)
    ]
    line = " ".join(f"{x},{y}" for x, y, point in drawn if point.is_valid and point.value is not None)
    marks = Markup("").join(_mark(*one) for one in drawn)
    about = f"{METRIC.phrase}: {', '.join(_text(point.value) for point in points)}"
    return Markup(
        '<svg class="trend" viewBox="0 0 {} {}" width="{}" height="{}" role="img" aria-label="{}">'
        '<line class="zero" x1="0" y1="{}" x2="{}" y2="{}"/><polyline points="{}"/>{}</svg>'
    ).format(_WIDTH, _HEIGHT, _WIDTH, _HEIGHT, about, low, _WIDTH, low, line, marks)


def _mark(x: float, y: float, point: Point) -> Markup:
    title = Markup("<title>{}: {}, {}</title>").format(point.run, _text(point.value), point.state)
    if point.value is None:
        path = f"M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6"
        return Markup('<path class="bad" d="{}">{}</path>').format(path, title)
    return Markup('<circle class="{}" cx="{}" cy="{}" r="3">{}</circle>').format(
        "valid" if point.is_valid else "doubtful", x, y, title
    )
