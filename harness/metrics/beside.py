"""The metrics that only some labels have: messages, rows, sessions, and the events of streamed answers.

What JMeter's agent counts in the window becomes metrics of its label and of TOTAL, per batch too, so that goals,
comparisons and histories have them as any other metric.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

from harness.base.units import MS_PER_S
from harness.metrics.amounts import HANDSHAKES, LOOKUPS, SESSIONS, WRITTEN, amounts_of
from harness.metrics.batches import BatchSums, batch_count_of
from harness.metrics.event_streams import streams_of
from harness.metrics.figures import Group, LabelFigures
from harness.metrics.interval import IntervalMs
from harness.metrics.metric import EVENTS, HANDSHAKE, LONGEST_GAP, LOOKUP, METRICS, SENDING, SESSION, Beside, metric_of

_US_PER_MS = 1_000
_MEANS = {SESSIONS: SESSION.key, LOOKUPS: LOOKUP.key, HANDSHAKES: HANDSHAKE.key, WRITTEN: SENDING.key}
_RATES = {metric.name: metric.key for metric in METRICS if metric.beside is Beside.RATE}


class _Counted(NamedTuple):
    """What was counted of a metric of a label at a time; `amount` is in the unit of the metric."""

    end_ms: int
    label: str
    key: str
    number: int
    amount: float


class BesideFigures(NamedTuple):
    """The sums of each metric's batches by label and key; a window without batches is one of `length_s`."""

    length_s: float
    by_label: Mapping[str, Mapping[str, BatchSums]]


def read_beside(amount_lines: Iterable[str], stream_lines: Iterable[str], window_ms: IntervalMs) -> BesideFigures:
    """Return what the agent's files have of a window."""
    batch_count = batch_count_of(window_ms.length_ms // MS_PER_S) or 1
    empty = [0.0] * batch_count
    counts: dict[tuple[str, str], list[float]] = defaultdict(empty.copy)
    sums: dict[tuple[str, str], list[float]] = defaultdict(empty.copy)
    for part in (*_amounts(amount_lines, window_ms), *_streams(stream_lines, window_ms)):
        batch = max(0, part.end_ms - window_ms.from_ms) * batch_count // window_ms.length_ms
        counts[part.label, part.key][batch] += part.number
        sums[part.label, part.key][batch] += part.amount
    by_label: dict[str, dict[str, BatchSums]] = defaultdict(dict)
    for (label, key), each in counts.items():
        by_label[label][key] = BatchSums(tuple(map(int, each)), tuple(round(value, 3) for value in sums[label, key]))
    return BesideFigures(window_ms.length_ms / MS_PER_S, by_label)


def _amounts(lines: Iterable[str], window_ms: IntervalMs) -> Iterator[_Counted]:
    for amount in amounts_of(lines, window_ms):
        if key := _RATES.get(amount.kind):
            yield _Counted(amount.end_ms, amount.label, key, amount.number, amount.number)
        if key := _MEANS.get(amount.kind):
            sum_ms = amount.number * amount.duration_us / _US_PER_MS
            yield _Counted(amount.end_ms, amount.label, key, amount.number, sum_ms)


def _streams(lines: Iterable[str], window_ms: IntervalMs) -> Iterator[_Counted]:
    for stream in streams_of(lines, window_ms):
        if stream.rate_per_s is not None:
            yield _Counted(stream.end_ms, stream.label, EVENTS.key, 1, stream.rate_per_s)
        yield _Counted(stream.end_ms, stream.label, LONGEST_GAP.key, 1, stream.longest_gap_ms)


def with_beside(group: Group, beside: BesideFigures) -> Group:
    """Return a group whose labels have these metrics; TOTAL has those of the labels that it includes."""
    labels = tuple(_with(label, beside.by_label.get(label.label, {}), beside.length_s) for label in group.labels)
    counted = [beside.by_label[label.label] for label in group.counted if label.label in beside.by_label]
    keys = dict.fromkeys(key for one in counted for key in one)
    total = {key: reduce(BatchSums.plus, (one[key] for one in counted if key in one)) for key in keys}
    return replace(group, labels=labels, total=_with(group.total, total, beside.length_s))


def _with(figures: LabelFigures, sums: Mapping[str, BatchSums], length_s: float) -> LabelFigures:
    if not sums:
        return figures
    values = {key: value for key, one in sums.items() if (value := _value(key, one, length_s)) is not None}
    batches = figures.batches and replace(figures.batches, beside={**figures.batches.beside, **sums})
    return replace(figures, beside={**figures.beside, **values}, batches=batches)


def _value(key: str, sums: BatchSums, length_s: float) -> float | None:
    if metric_of(key).beside is Beside.RATE:
        return sum(sums.sums) / length_s
    return sum(sums.sums) / count if (count := sum(sums.counts)) else None
