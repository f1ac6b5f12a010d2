"""Watches JMeter until it ends: shows progress and handles dead processes, a hanging run and Ctrl-C."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from harness.base import units
from harness.base.interrupts import Interrupts
from harness.jtl.sample import Sample
from harness.metrics.live import LiveFigures, LiveTally
from harness.run.jmeter.early_stop import EarlyStop
from harness.run.jmeter.process import JMeter, StopLimits, ending_text, signal_of
from harness.run.jmeter.progress import JtlTail, NewRows, Progress, Tails
from harness.run.parts.drive import PartMachines

if TYPE_CHECKING:
    from harness.run.jmeter.auto_end import AutoEnd

_PERIOD_S = 1.0
# The time for running samples to finish after Ctrl-C; KillBill allows 30 s for a payment.
GRACEFUL_S = 35.0
# The same after the system died or JMeter hung.
_BRIEF_S = 3.0
_TERM_S = 5.0
# They end a JMeter whose samples do not finish: of a system that a stop condition found, these samples may hang.
_OUR_SIGNALS = (signal.SIGTERM, signal.SIGKILL)


@dataclass(frozen=True)
class DriveOutcome:
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
    asks JMeter to end; this is not an interruption. JMeter has `overrun_s` beyond the duration for its start and its
    last samples, and as long again for tearDown. Jobs may run until `jobs_s`.
    """

    duration_s: float | None
    overrun_s: float
    request_count: int | None = None
    auto_end: AutoEnd | None = None
    early_stop: EarlyStop | None = None
    jobs_s: float = 0.0

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


_Tail = JtlTail | Tails
_NOT_ENDED, _STEPS_SHOWN = "JMeter did not end by itself", 3


def drive(
    jmeter: JMeter | PartMachines,
    tail: _Tail,
    progress: Progress,
    interrupts: Interrupts,
    failures: Callable[[], Sequence[str]],
    end: EndOfLoad,
) -> DriveOutcome:
    """Return how the run ended. `interrupts` must be held; `failures` returns dead system processes and generators."""
    view = _View(tail, progress, end.duration_s, jmeter.active_users)
    started_s = time.monotonic()
    view.begin(started_s)
    while jmeter.wait(_PERIOD_S) is None:
        now_s = time.monotonic()
        rows, figures = view.look(now_s)
        is_load_over = jmeter.teardown.has_begun(rows.samples)
        if interrupts.count:
            what = "when tearDown has ended" if is_load_over else "JMeter finishes its running samples"
            progress.log(f"stopping: {what}; interrupt again to stop at once")
            code = _stopped(jmeter, view, GRACEFUL_S, end.overrun_s, lambda: interrupts.count > 1)
            return DriveOutcome(code, True, _teardown_reasons(jmeter, code, end.overrun_s, progress))
        enough = "" if is_load_over else end.enough(now_s, rows.samples, rows.row_count, figures.sample_count)
        reasons = () if enough else tuple(failures())
        if reasons:
            progress.log(f"stopping: {reasons[0]}")
            return DriveOutcome(_stopped(jmeter, view, _BRIEF_S, _BRIEF_S), False, reasons)
        is_judged = not (enough or is_load_over)
        early = end.stop_reason(now_s, rows.samples, rows.row_count, figures.users) if is_judged else ""
        if enough or early:
            progress.log(f"{enough or f'stopping early: {early}'}: JMeter finishes its running samples")
            code = _stopped(jmeter, view, GRACEFUL_S, end.overrun_s, lambda: interrupts.count > 0)
            cut = _teardown_reasons(jmeter, code, end.overrun_s, progress)
            if early:
                hung = signal_of(code) in _OUR_SIGNALS
                return DriveOutcome(
                    code, interrupts.count > 0, () if hung else _reasons(code), "; ".join((early, *cut))
                )
            return DriveOutcome(code, interrupts.count > 0, cut or _reasons(code))
        if reason := _overrun(jmeter, end, now_s, started_s):
            progress.log(f"stopping: {reason}")
            return DriveOutcome(_stopped(jmeter, view, _BRIEF_S, end.overrun_s), False, (f"{reason} and was stopped",))
    code = jmeter.poll() or 0
    is_interrupted = interrupts.count > 0  # Ctrl-C came in the last second
    return DriveOutcome(code, is_interrupted, () if is_interrupted else _reasons(code))


class _Look(NamedTuple):
    """The new rows of the JTL, and the metrics so far."""

    rows: NewRows
    figures: LiveFigures


class _View:
    """Reads the new rows of the JTL and shows them; the times count from the first sample."""

    def __init__(
        self,
        tail: _Tail,
        progress: Progress,
        duration_s: float | None,
        active_users: Callable[[], int | None],
    ) -> None:
        self._tail, self._progress, self._duration_s, self._active_users = tail, progress, duration_s, active_users
        self._live = LiveTally()
        self._first_sample_s: float | None = None
        self._active_since_s: float | None = None

    def begin(self, now_s: float) -> None:
        """Remember when the load begins: the rate of its first rows needs the time before them."""
        self._live.tick(now_s, [], 0)

    def look(self, now_s: float) -> _Look:
        """Return the new rows and the metrics so far, and show them."""
        rows = self._tail.new_rows()
        active_users = self._active_users()
        figures = self._live.tick(now_s, rows.samples, rows.row_count, active_users)
        if figures.sample_count and self._first_sample_s is None:
            self._first_sample_s = now_s
        if self._first_sample_s is None and active_users:
            self._active_since_s = self._active_since_s or now_s
            self._progress.wait(active_users, now_s - self._active_since_s, self._tail.has_rows)
        if self._first_sample_s is not None:
            self._progress.show(figures, now_s - self._first_sample_s, self._duration_s)
            self._progress.add(rows, now_s - self._first_sample_s, active_users)
        return _Look(rows, figures)


def _stopped(
    jmeter: JMeter | PartMachines,
    view: _View,
    samples_s: float,
    teardown_s: float,
    hurry: Callable[[], bool] = lambda: False,
) -> int:
    """Stop JMeter, show what it does until its end, and return its exit code."""
    limits = StopLimits(samples_s, teardown_s, _TERM_S)
    return jmeter.stop(limits, lambda: view.look(time.monotonic()).rows.samples, hurry)


def _overrun(jmeter: JMeter | PartMachines, end: EndOfLoad, now_s: float, started_s: float) -> str:
    """Return the limit that JMeter has exceeded, else an empty text; tearDown has a limit of its own."""
    if jmeter.teardown.began_s is not None:
        if now_s - jmeter.teardown.began_s <= end.overrun_s:
            return ""
        return f"the plan's tearDown did not end within {end.overrun_s:.0f} s"
    if end.duration_s is None or now_s - started_s <= max(end.duration_s, end.jobs_s) + end.overrun_s:
        return ""
    return f"{_NOT_ENDED} within {end.overrun_s:.0f} s after its duration"


def with_steps(reason: str, busy: Mapping[str, int]) -> str:
    """Return why a run has ended, with the steps that kept JMeter from it; `busy` has their users."""
    if not busy or not reason.startswith(_NOT_ENDED):
        return reason
    steps = ", ".join(f"{name} ({units.plural(count, 'user')})" for name, count in list(busy.items())[:_STEPS_SHOWN])
    return f"{reason}: still waiting in {steps}. Give such a step a timeout"


def _teardown_reasons(jmeter: JMeter | PartMachines, code: int, limit_s: float, progress: Progress) -> tuple[str, ...]:
    """Return and print that tearDown was cut short, if the harness ended JMeter within it."""
    began_s = jmeter.teardown.began_s
    if began_s is None or signal_of(code) not in _OUR_SIGNALS:
        return ()
    is_late = time.monotonic() - began_s >= limit_s
    what = f"did not end within {limit_s:.0f} s and was stopped" if is_late else "was interrupted"
    reason = f"the plan's tearDown {what}; what it cleans up may be left behind"
    progress.log(reason)
    return (reason,)


def _reasons(code: int) -> tuple[str, ...]:
    return (f"JMeter {ending_text(code)}",) if code else ()
