"""Counts the samples of a simulated run as the tally of a JTL does, with NumPy, and makes the summary of its report."""

from __future__ import annotations

import math

import numpy

from bench.statistics.simulated_load import Array, Rows
from harness.base.units import MS_PER_S
from harness.judge.summarise import SummaryOptions, summarise, window_of, window_span_ms
from harness.judge.summary import RunSummary
from harness.metrics.batches import BatchCounts, batch_count_of
from harness.metrics.figures import LOAD, ONCE, LabelCounts
from harness.metrics.histogram import Histogram
from harness.metrics.tally import ErrorKey, LabelKey, SampleTally, Scope
from harness.metrics.timeline import Order, Source
from harness.metrics.window import parse_window
from harness.plan.goal import Goal
from harness.plan.jmx.steps import PlanStep
from harness.plan.load import OPEN
from harness.plan.load.model import LoadRecord
from harness.run.group_counts import GroupCounts
from harness.run.record import FINISHED, HostRecord, RowsRecord, RunRecord

START_MS = 1_700_000_000_000
_SOURCE = Source(0, "")
SENT_BYTES = 100
# JMeter needs some seconds for its start and its end.
_AROUND_S = 5.0


def summary_of(rows: Rows, load: LoadRecord) -> RunSummary:
    """Return the summary of a run, as its report would have it."""
    run = _record(rows, load)
    tally = tally_of(rows, Scope(rows.once_labels))
    for number in range(rows.unread_count):
        tally.dropped.note(number + 2, "no number", is_torn_end=False)
    window = window_of(tally, parse_window("steady"), run)
    span_ms, counted = window_span_ms(tally, window), None
    if window.length_s < window.run_s:
        batch_count = batch_count_of(window.length_s)
        counted = tally_of(rows, Scope(rows.once_labels, window_ms=span_ms, batch_count=batch_count))
    return summarise(tally, "simulated/run-01_1", run, options=SummaryOptions(window, counted, with_timeline=False))


def tally_of(rows: Rows, scope: Scope) -> SampleTally:
    """Return the tally of a scope's samples."""
    tally = scope.tally()
    start_ms, elapsed_ms = _times_ms(rows)
    end_ms = start_ms + elapsed_ms
    chosen = numpy.ones(len(end_ms), dtype=bool)
    if scope.window_ms:
        chosen = (end_ms >= scope.window_ms.from_ms) & (end_ms < scope.window_ms.to_ms)
    numbers, firsts = numpy.unique(rows.label[chosen], return_index=True)
    for number in numbers[numpy.argsort(firsts)].tolist():
        label, own = rows.labels[number], chosen & (rows.label == number)
        if not own.any():
            continue
        group = ONCE if label in scope.once_labels else LOAD
        key = LabelKey(group, label, rows.is_transaction)
        failed_count = int(rows.failed[own].sum())
        counts = tally.counts(key, _SOURCE)
        counts.merge(
            LabelCounts(
                _histogram(elapsed_ms[own]), int(elapsed_ms[own].sum()), failed_count, int(rows.size[own].sum()),
                SENT_BYTES * int(own.sum()), None, None, int(start_ms[own].min()), int(end_ms[own].max()),
            )
        )  # fmt: skip
        if scope.window_ms:
            _add_batches(tally, key, scope, rows.only(own))
            continue
        tally.note_start(int(start_ms[own].min()))
        fine_count = int(own.sum()) - failed_count
        if fine_count:
            tally.add_code((label, "200", rows.is_transaction), fine_count, 0)
        if failed_count:
            tally.add_code((label, "500", rows.is_transaction), failed_count, failed_count)
            failed_ms = start_ms[own][rows.failed[own]]
            kind = ErrorKey(label, "500", "Internal Server Error")
            tally.add_kind(kind, failed_count, int(failed_ms.min()), int(failed_ms.max()), "Internal Server Error")
    if not scope.window_ms:
        _add_seconds(tally, rows, end_ms, elapsed_ms)
    return tally


def _times_ms(rows: Rows) -> Array:
    """Return two rows, in ms: when the samples begin, and how long they take."""
    start_ms = START_MS + numpy.rint(rows.start_s * MS_PER_S)
    return numpy.array([start_ms, numpy.rint((rows.end_s - rows.start_s) * MS_PER_S)]).astype(numpy.int64)


def _histogram(values_ms: Array) -> Histogram:
    values, counts = numpy.unique(values_ms, return_counts=True)
    return Histogram(dict(zip(values.tolist(), counts.tolist(), strict=True)))


def _add_batches(
    tally: SampleTally,
    key: LabelKey,
    scope: Scope,
    rows: Rows,
) -> None:
    window_ms = scope.window_ms
    if not scope.batch_count or window_ms is None:
        return
    start_ms, elapsed_ms = _times_ms(rows)
    end_ms = start_ms + elapsed_ms
    batch = (end_ms - window_ms.from_ms) * scope.batch_count // window_ms.length_ms
    for number in numpy.unique(batch).tolist():
        own = batch == number
        counts = BatchCounts(
            _histogram(elapsed_ms[own]),
            int(elapsed_ms[own].sum()),
            int(rows.failed[own].sum()),
            int(rows.size[own].sum()),
        )
        for code, failed in (("200", False), ("500", True)):
            if of_code := int((rows.failed[own] == failed).sum()):
                counts.add_code(code, of_code)
        tally.batches[key][number] = counts


def _add_seconds(tally: SampleTally, rows: Rows, end_ms: Array, elapsed_ms: Array) -> None:
    series = tally.transactions if rows.is_transaction else tally.requests
    second = end_ms // MS_PER_S
    first_s = int(second.min())
    index = second - first_s
    counts, errors, sums = (
        numpy.bincount(index, weights).astype(numpy.int64).tolist() for weights in (None, rows.failed, elapsed_ms)
    )
    users = numpy.zeros(len(counts), dtype=numpy.int64)
    numpy.maximum.at(users, index, rows.active)
    for at, (count, error_count, sum_ms, active) in enumerate(zip(counts, errors, sums, users.tolist(), strict=True)):
        if count:
            series.seconds.add(first_s + at, count, error_count, sum_ms)
            series.add_users(_SOURCE, first_s + at, active)
    begin_s = -((elapsed_ms - end_ms) // MS_PER_S)
    waited = (elapsed_ms >= MS_PER_S) & (begin_s < second)
    for at, to in zip(begin_s[waited].tolist(), second[waited].tolist(), strict=True):
        series.waits[at] += 1
        series.waits[to] -= 1
    if not rows.is_transaction:
        back_ms = int((numpy.maximum.accumulate(end_ms) - end_ms).max())
        tally.orders[0].merge(Order(int(end_ms.min()), int(end_ms.max()), back_ms))


def _record(rows: Rows, load: LoadRecord) -> RunRecord:
    took_s = max(float(rows.end_s.max()), load.duration_s or 0.0) + _AROUND_S
    return RunRecord(
        format_version=1, name="run-01_1", plan="simulated", plan_title="A simulated load", profile="local",
        profile_title="This machine", command="scripts/bench window", state=FINISHED, load=load, goal=Goal(),
        once_labels=rows.once_labels, plan_notes=(), note="", target=None, system="", system_settings={},
        system_facts=(), properties={}, generator_heap_mb=1024, versions={},
        host=HostRecord("CPU", 2, 8 * 1024**3, "Linux", "3.11"), git_commit=None, git_changed=None,
        started_at="2023-11-14T22:13:20Z", took_s=took_s,
        steps=tuple(PlanStep(label, may_be_skipped=False) for label in (rows.made or rows).labels),
        rows=RowsRecord(len(rows.end_s) + rows.unread_count, False, 0), groups=(_group(rows.made or rows, load),),
    )  # fmt: skip


def _group(rows: Rows, load: LoadRecord) -> GroupCounts:
    """Return what the agent in JMeter counts of the users who made these requests."""
    to_s = math.ceil(float(rows.end_s.max())) + 1
    order = numpy.lexsort((rows.start_s, rows.user))
    user, start_s, end_s = rows.user[order], rows.start_s[order], rows.end_s[order]
    is_next = user[1:] == user[:-1]
    pauses = _ms_by_second(end_s[:-1][is_next], numpy.maximum(start_s[1:], end_s[:-1])[is_next], to_s)
    edges = numpy.concatenate([[True], ~is_next, [True]])
    alive = _ms_by_second(start_s[edges[:-1]], end_s[edges[1:]], to_s)
    arrivals = None
    if load.model == OPEN:
        arrivals = tuple(numpy.bincount(start_s.astype(numpy.int64), minlength=to_s).tolist())
        pauses = (0,) * to_s
    return GroupCounts("Users", START_MS // MS_PER_S, 1, pauses, int(is_next.sum()), alive, arrivals)


def _ms_by_second(from_s: Array, to_s: Array, until_s: int) -> tuple[int, ...]:
    """Return how many ms of intervals are in each second."""
    grid = numpy.arange(until_s + 1, dtype=float)

    def passed(times: Array) -> Array:
        ordered = numpy.sort(times)
        sums = numpy.concatenate([[0.0], numpy.cumsum(ordered)])
        before = numpy.searchsorted(ordered, grid, side="right")
        passed_s: Array = before * grid - sums[before]
        return passed_s

    values = numpy.diff(passed(from_s) - passed(to_s)) * MS_PER_S
    return tuple(numpy.rint(values).astype(numpy.int64).tolist())
