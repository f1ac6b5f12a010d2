"""Warns that consumers of a message broker do not keep up: their lag grew, or is far above that before the run.

Seen: consumers of a message broker [do not keep up](cloudwatch.md#definitions).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind
from harness.metrics.window import Window

if TYPE_CHECKING:
    from harness.cloudwatch.points import CloudMetric, CloudMetrics

# A lag is named when it is this much higher: so many messages, and this share of the earlier lag.
_RISE_LEAST = 1000.0
_GROWTH_RATIO, _ABOVE_RATIO = 0.5, 1.0
# Thirds of the window are compared: of fewer points each is one or two.
_POINTS_LEAST = 6
_NAMED_MOST = 4


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the consumers of a run that do not keep up."""
    yield from lag_values(evidence.cloudwatch, evidence.window)


def lag_values(found: CloudMetrics | None, window: Window) -> Iterator[Values]:
    """Yield the consumers that do not keep up, those with the most messages first; nothing when all keep up."""
    if found is None:
        return
    from harness.cloudwatch.queries import CONSUMER, LAG  # deferred: a table needs no CloudWatch

    lags = sorted(
        (one for one in found.metrics if one.kind == CONSUMER and one.metric == LAG),
        key=lambda one: -(one.mean or 0.0),
    )
    if texts := [text for one in lags if (text := _text(one, window))]:
        rest = len(texts) - _NAMED_MOST
        yield {"consumers": "; ".join(texts[:_NAMED_MOST]) + (f"; and {rest} more" if rest > 0 else "")}


def _text(lag: CloudMetric, window: Window) -> str:
    """Return what is wrong with a consumer's lag; empty when it keeps up."""
    cluster, _, consumer = lag.resource.partition("/")
    group, _, topic = consumer.rpartition("/")
    points = [
        value
        for at_s, value in zip(lag.seconds, lag.averages, strict=True)
        if value is not None and window.from_s <= at_s <= window.to_s
    ]
    name = f"{group} at topic {topic} of {cluster}"
    if len(points) >= _POINTS_LEAST:
        third = len(points) // 3
        first, middle, last = (_mean(part) for part in (points[:third], points[third:-third], points[-third:]))
        if first < middle < last and _is_above(last, first, _GROWTH_RATIO):
            return f"{name}, lag from {first:,.0f} to {last:,.0f} messages within the window"
    before = lag.before_maximum
    if lag.mean is not None and before is not None and _is_above(lag.mean, before, _ABOVE_RATIO):
        return f"{name}, lag {lag.mean:,.0f} messages, before the run at most {before:,.0f}"
    return ""


def _is_above(value: float, earlier: float, ratio: float) -> bool:
    return value >= earlier + max(_RISE_LEAST, ratio * earlier)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


WARNING = WarningKind(
    code="consumer-lag",
    since="1.1.0",
    concerns=(ReportPart.VERDICT,),
    needs=("cloudwatch",),
    text="Consumers do not keep up: {consumers}. Their work is not done when the requests are: look at these "
    "services and their database, then at the number of partitions.",
    page=__doc__,
    found_in=found_in,
)
