"""Watches JMeter until it ends: shows progress and handles dead processes, a hanging run and Ctrl-C."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.base.interrupts import Interrupts
from harness.jtl.sample import Sample
from harness.metrics.live import LiveTally
from harness.run.early_stop import EarlyStop
from harness.run.jmeter import JMeter, ending_text, signal_of
from harness.run.progress import JtlTail, Progress

if TYPE_CHECKING:
    from harness.run.auto_end import AutoEnd

_PERIOD_S = 1.0
# The time for running samples to finish after Ctrl-C; KillBill allows 30 s for a payment.
GRACEFUL_S = 35.0
# The same after the system died or JMeter hung.
_BRIEF_S = 3.0
_TERM_S = 5.0
# They end a JMeter whose samples do not finish: of a system that a stop condition found, these samples may hang.
_OUR_SIGNALS = (signal.SIGTERM, signal.SIGKILL)


@dataclass(frozen=True)
class Outcome:
    """How JMeter ended; `reasons` explain why the run does not match its request.

    `stopped_early` is the stop condition that ended the load, with the measured value; empty without one.
    """

    exit_code: int
    interrupted: bool
    reasons: tuple[str, ...]
    stopped_early: str = ""


@dataclass(frozen=True)
class EndOfLoad:
    """When a load ends; `duration_s` is None when only loops end it.

    After `request_count` samples, when `auto_end` is satisfied, or when a condition of `early_stop` is met, the harness
    asks JMeter to end; this is not an interruption. JMeter has `overrun_s` beyond the duration for its start, its last
    samples and tearDown.
    """

    duration_s: float | None
    overrun_s: float
    request_count: int | None = None
    auto_end: AutoEnd | None = None
    early_stop: EarlyStop | None = None

    def enough(self, now_s: float, samples: Sequence[Sample], row_count: int, sample_count: int) -> str:
        """Return why the load is complete, else an empty text; `samples` are the new rows or a part of them."""
        if self.request_count is not None and sample_count >= self.request_count:
            return f"{sample_count} of {self.request_count} samples done"
        if self.auto_end:
            self.auto_end.add(now_s, samples, row_count)
            return "steady state reached, and the mean is precise enough" if self.auto_end.is_enough(now_s) else ""
        return ""

    def stop_reason(self, now_s: float, samples: Sequence[Sample], row_count: int, users: int) -> str:
        """Return the stop condition that is met, else an empty text; `users` are active."""
        return self.early_stop.reason(now_s, samples, row_count, users) if self.early_stop else ""


def drive(
    jmeter: JMeter,
    tail: JtlTail,
    progress: Progress,
    interrupts: Interrupts,
    failures: Callable[[], Sequence[str]],
    end: EndOfLoad,
) -> Outcome:
    """Return how the run ended. `interrupts` must be held; `failures` returns dead system processes and generators."""
    live = LiveTally()
    started_s = time.monotonic()
    first_sample_s: float | None = None
    while jmeter.wait(_PERIOD_S) is None:
        now_s = time.monotonic()
        rows = tail.new_rows()
        figures = live.tick(now_s, rows.samples, rows.row_count)
        if figures.sample_count and first_sample_s is None:
            first_sample_s = now_s
        if first_sample_s is not None:
            progress.show(figures, now_s - first_sample_s, end.duration_s)
            progress.add(rows.samples, rows.row_count, now_s - first_sample_s)
        if interrupts.count:
            progress.log("stopping: JMeter finishes its running samples; interrupt again to stop at once")
            return Outcome(jmeter.stop(GRACEFUL_S, _TERM_S, hurry=lambda: interrupts.count > 1), True, ())
        enough = end.enough(now_s, rows.samples, rows.row_count, figures.sample_count)
        found = () if enough else tuple(failures())
        if found:
            progress.log(f"stopping: {found[0]}")
            return Outcome(jmeter.stop(_BRIEF_S, _TERM_S), False, found)
        early = "" if enough else end.stop_reason(now_s, rows.samples, rows.row_count, figures.users)
        if enough or early:
            progress.log(f"{enough or f'stopping early: {early}'}: JMeter finishes its running samples")
            code = jmeter.stop(GRACEFUL_S, _TERM_S, hurry=lambda: interrupts.count > 0)
            is_hung = bool(early) and signal_of(code) in _OUR_SIGNALS
            return Outcome(code, interrupts.count > 0, () if is_hung else _reasons(code), early)
        if end.duration_s is not None and now_s - started_s > end.duration_s + end.overrun_s:
            progress.log(f"stopping: JMeter still runs {end.overrun_s:.0f} s after its duration")
            reason = f"JMeter did not end by itself within {end.overrun_s:.0f} s after its duration and was stopped"
            return Outcome(jmeter.stop(_BRIEF_S, _TERM_S), False, (reason,))
    code = jmeter.poll() or 0
    if interrupts.count:  # Ctrl-C came in the last second
        return Outcome(code, True, ())
    return Outcome(code, False, _reasons(code))


def _reasons(code: int) -> tuple[str, ...]:
    return (f"JMeter {ending_text(code)}",) if code else ()
