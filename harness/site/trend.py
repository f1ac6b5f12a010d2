"""What changed in each plan, for the index: its newest run against that of a week before, and p95 as a small chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from markupsafe import Markup

from harness.base import units
from harness.base.errors import UsageError
from harness.compare.change_text import change_of, with_unit
from harness.compare.comparison import CANNOT_TELL, Comparison
from harness.compare.conditions import Conditions
from harness.compare.decision import compare
from harness.compare.run_scatter import ASSUMED
from harness.history.catalogue import Entry
from harness.history.earlier_runs import LOOKED_AT_MOST, earlier_scatter
from harness.judge.result import TONES, Tone
from harness.judge.verdict import DOUBTFUL
from harness.metrics.metric import ERRORS, P95, THROUGHPUT, Metric
from harness.plan.thresholds import Thresholds
from harness.report.run_result import RunResult
from harness.report.setup import load_text

METRIC = P95
POINTS_MOST = 30
# What the table shows the change of.
CHANGES = (P95, THROUGHPUT, ERRORS)
_WEEK = timedelta(days=7)
# Reads the result of a run with its batches; None when it cannot be read.
WholeOf = Callable[[Entry], RunResult | None]
_WIDTH, _HEIGHT, _EDGE = 220, 44, 5


@dataclass(frozen=True)
class TrendPoint:
    """A run of a trend: its value (ms), None when its times mean nothing, and whether it is VALID."""

    run: str
    state: str
    value: float | None
    is_valid: bool


@dataclass(frozen=True)
class Trend:
    """The newest runs of a plan under the conditions of its newest one, oldest first, and what changed in a week.

    `verdict` is that of the newest run against `against`, the newest VALID run that is at least seven days older, or
    else the oldest one; both are empty without such a run. `changes` are texts for CHANGES.
    """

    plan: str
    load: str
    newest: str
    state: str
    value: str
    chart: Markup
    against: str = ""
    ago: str = ""
    verdict: str = ""
    changes: tuple[str, ...] = ("",) * len(CHANGES)

    @property
    def tone(self) -> Tone:
        """What the verdict means."""
        return TONES.get(self.verdict, Tone.NONE)


def trends(
    entries: Iterable[Entry], thresholds_of: Callable[[str], Thresholds], whole_of: WholeOf
) -> tuple[Trend, ...]:
    """Return the trend of each plan that has a run with metrics: what is worse comes first, then by name.

    `thresholds_of` returns the least changes that matter for a plan, `whole_of` the result of a run with its batches.
    """
    plans: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.order_key):
        if entry.run and entry.result and entry.result.verdict:
            plans.setdefault(entry.plan, []).append(entry)
    found = [_trend(plan, listed, thresholds_of(plan), whole_of) for plan, listed in sorted(plans.items())]
    return tuple(sorted(found, key=lambda trend: (Tone.BAD, Tone.GOOD, Tone.DOUBT, Tone.NONE).index(trend.tone)))


def _trend(plan: str, entries: Sequence[Entry], thresholds: Thresholds, whole_of: WholeOf) -> Trend:
    newest = entries[-1]
    assert newest.run
    conditions = Conditions.of(newest.run)
    alike = [entry for entry in entries if entry.run and Conditions.of(entry.run) == conditions]
    points = [_point(entry) for entry in alike[-POINTS_MOST:]]
    trend = Trend(plan, load_text(newest.run.load), newest.id, points[-1].state, _text(points[-1].value), chart(points))
    baseline = _week_before(newest, alike[:-1])
    return _changed(trend, baseline, alike, thresholds, whole_of) if baseline else trend


def _week_before(newest: Entry, before: Sequence[Entry]) -> Entry | None:
    valid = [entry for entry in before if entry.result and entry.result.is_valid]
    limit = datetime.fromisoformat(newest.started_at) - _WEEK
    older = [entry for entry in valid if datetime.fromisoformat(entry.started_at) <= limit]
    return older[-1] if older else valid[0] if valid else None


def _changed(trend: Trend, baseline: Entry, alike: Sequence[Entry], thresholds: Thresholds, whole_of: WholeOf) -> Trend:
    newest = alike[-1]
    passed = datetime.fromisoformat(newest.started_at) - datetime.fromisoformat(baseline.started_at)
    ago = units.plural(round(passed / timedelta(days=1)), "day")
    trend = replace(trend, against=baseline.id, ago=ago, verdict=CANNOT_TELL)
    sides = whole_of(baseline), whole_of(newest)
    if sides[0] is None or sides[1] is None:
        return trend
    try:
        scatter = earlier_scatter(alike[-LOOKED_AT_MOST:], (sides[0], sides[1])) or ASSUMED
        comparison = compare([sides[0]], [sides[1]], thresholds, scatter=scatter)
    except UsageError:
        return trend
    is_known = comparison.verdict != CANNOT_TELL
    changes = tuple(_change(comparison, metric) if is_known else "" for metric in CHANGES)
    return replace(trend, verdict=comparison.verdict, changes=changes)


def _change(comparison: Comparison, metric: Metric) -> str:
    metric_change = comparison.total.of(metric) if comparison.total else None
    return with_unit(change_of(metric_change), metric_change) if metric_change else ""


def _point(entry: Entry) -> TrendPoint:
    result = entry.result
    assert result and result.verdict
    total, state = result.total, result.verdict.state
    # The response times of an INVALID run are often those of errors.
    is_known = total is not None and (result.is_valid or state == DOUBTFUL)
    return TrendPoint(entry.name, state, METRIC.of(total) if is_known and total else None, result.is_valid)


def _text(value: float | None) -> str:
    return "no value" if value is None else f"{METRIC.text(value)} {METRIC.unit}"


def chart(points: Sequence[TrendPoint]) -> Markup:
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


def _mark(x: float, y: float, point: TrendPoint) -> Markup:
    title = Markup("<title>{}: {}, {}</title>").format(point.run, _text(point.value), point.state)
    if point.value is None:
        path = f"M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6"
        return Markup('<path class="bad" d="{}">{}</path>').format(path, title)
    return Markup('<circle class="{}" cx="{}" cy="{}" r="3">{}</circle>').format(
        "valid" if point.is_valid else "doubtful", x, y, title
    )
