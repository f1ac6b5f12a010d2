"""Detects that a clock was set during a run: time stamps then cover more or less time than has passed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from harness.base.units import MS_PER_S, duration_text
from harness.metrics.interval import IntervalMs

if TYPE_CHECKING:
    from harness.run.record import RunRecord

# All samples are taken while JMeter runs; time stamps are whole milliseconds of another clock.
_SPAN_TOLERANCE_S = 1.0
# run.json has whole seconds, and JMeter starts a few seconds after the run.
_WALL_TOLERANCE_S = 5.0
# Rows are written in the order in which samples end, or a little later when a thread waits for the file.
_BACK_TOLERANCE_S = 2.0
# A JMeter that was stopped writes its samples when it goes on, the longest a few ms after the others.
_LATE_MS = 100
# A parent transaction writes its requests at its end. With its pauses it hardly takes longer.
_TRANSACTION_MOST_MS = 600_000
# A larger step, as a share of the run, makes the run INVALID instead of DOUBTFUL.
INVALID_RATIO = 0.1


@dataclass(frozen=True)
class ClockStep:
    """A clock was set by about `step_s` (negative: back); `is_large` is relative to the run; `evidence` is text."""

    step_s: float
    is_large: bool
    evidence: str


def watches_clock(run: RunRecord) -> bool:
    """Return whether the agent watched the clock of each JMeter that took samples; it does not on load generators."""
    return run.rows is not None and all(one.machine for one in run.generators)


def find_clock_step(
    run: RunRecord | None, span_ms: IntervalMs | None, back_ms: int, longest_ms: int, *, has_transactions: bool = False
) -> ClockStep | None:
    """Return the largest clock step that the samples or run.json show; None without one.

    `span_ms` is the first start and last end of all samples, including setUp and tearDown. `back_ms` is the largest
    distance by which a row ends before an earlier row. `longest_ms` is the longest response time: a sub-sample may be
    written after its parent. With `has_transactions` the requests of one may be written together at its end: how
    long it took with its pauses is in no row. Where the agent watched the clock, only it counts: rows of a transaction
    that are written together, and pauses of the load, look like steps.
    """
    steps: list[tuple[float, str]] = []
    if run and run.rows and watches_clock(run):
        step_s = run.rows.clock_step_ms / MS_PER_S
        if abs(step_s) < _SPAN_TOLERANCE_S:
            return None
        return _step(step_s, "JMeter saw the clock jump against the monotonic one", run, span_ms)
    span_s = span_ms.length_ms / MS_PER_S if span_ms else 0.0
    tolerance_ms = max(_BACK_TOLERANCE_S * MS_PER_S, longest_ms + _LATE_MS)
    if back_ms > (max(_TRANSACTION_MOST_MS, tolerance_ms) if has_transactions else tolerance_ms):
        back_s = back_ms / MS_PER_S
        steps.append((-back_s, f"time stamps go back by {duration_text(back_s)}"))
    if run and run.took_s is not None and not run.generators:
        if span_s > run.took_s + _SPAN_TOLERANCE_S:
            text = f"samples span {duration_text(span_s)}, and JMeter ran for {duration_text(run.took_s)}"
            steps.append((span_s - run.took_s, text))
        if (passed_s := _passed_s(run)) is not None:
            step_s = passed_s - run.took_s
            if abs(step_s) >= _WALL_TOLERANCE_S:
                by_wall, by_monotonic = duration_text(passed_s), duration_text(run.took_s)
                text = f"by the wall clock the run took {by_wall}, by the monotonic clock {by_monotonic}"
                steps.append((step_s, text))
    if not steps:
        return None
    step_s, evidence = max(steps, key=lambda one: abs(one[0]))
    return _step(step_s, evidence, run, span_ms)


def _passed_s(run: RunRecord) -> float | None:
    """Return how long a run took by the wall clock, in s; None when its record does not say."""
    try:
        return (datetime.fromisoformat(run.ended_at or "") - datetime.fromisoformat(run.started_at)).total_seconds()
    except (ValueError, TypeError):
        return None


def _step(step_s: float, evidence: str, run: RunRecord | None, span_ms: IntervalMs | None) -> ClockStep:
    span_s = span_ms.length_ms / MS_PER_S if span_ms else 0.0
    length_s = run.took_s if run and run.took_s else span_s
    return ClockStep(step_s, abs(step_s) >= INVALID_RATIO * length_s, evidence)
