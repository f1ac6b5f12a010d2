"""Classifies the requests of an overload test (in time, late, rejected, timed out), and finds when it recovers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.base.units import MS_PER_S
from harness.jtl.sample import Sample, thread_group_of
from harness.kinds.overload.levels import REST_GOOD_LEAST_RATIO, OverloadLevel
from harness.plan.jmx.tree import LOAD_GROUP

# A rejection is fast when it takes no longer than this, nor than an answer within the goal.
FAST_MOST_MS = 1000
_TIME_OUT_CODE, _TIME_OUT_MESSAGE = "timeoutexception", "timed out"
WINDOW_S = 5
# A window may be so much worse than the worst one before the overload: there are only a few of those.
TOLERANCE_RATIO = 0.10
_P90 = 0.9


class AttemptsOutcome(StrEnum):
    """What became of a request."""

    GOOD = "good"
    LATE = "late"
    REJECTED_FAST = "rejected fast"
    REJECTED_SLOWLY = "rejected slowly"
    TIMED_OUT = "timed out"


@dataclass(frozen=True)
class Attempt:
    """A request: its start in s after the first arrival, how long it took, and its outcome."""

    start_s: float
    elapsed_ms: int
    outcome: AttemptsOutcome

    @property
    def end_s(self) -> float:
        """When its answer was complete, s after the first arrival."""
        return self.start_s + self.elapsed_ms / MS_PER_S


@dataclass(frozen=True)
class User:
    """A user who arrived: the start of the first request in s after the first arrival, and the number of requests."""

    start_s: float
    attempt_count: int


@dataclass(frozen=True)
class Attempts:
    """All requests of the load and all users who made them, both by start; `most_users` were active at once."""

    attempts: tuple[Attempt, ...]
    users: tuple[User, ...]
    most_users: int | None


def outcome_of(sample: Sample, limit_ms: float) -> AttemptsOutcome:
    """Return the outcome of a request; `limit_ms` is the longest response time within the goal.

    A failure is a time-out when the client gave up: on connecting, or on the answer. Every other failure is a
    rejection: refused or reset connections, error codes, wrong content.
    """
    if sample.success:
        return AttemptsOutcome.GOOD if sample.elapsed_ms <= limit_ms else AttemptsOutcome.LATE
    if _TIME_OUT_CODE in sample.code.lower() or _TIME_OUT_MESSAGE in sample.message.lower():
        return AttemptsOutcome.TIMED_OUT
    return (
        AttemptsOutcome.REJECTED_FAST
        if sample.elapsed_ms <= min(limit_ms, FAST_MOST_MS)
        else AttemptsOutcome.REJECTED_SLOWLY
    )


def attempts_of(samples: Iterable[Sample], limit_ms: float) -> Attempts:
    """Return the requests of the load among the samples of a run; setUp, tearDown and transactions are left out."""
    load_samples = [
        sample for sample in samples if not sample.is_transaction and thread_group_of(sample.thread_name) == LOAD_GROUP
    ]
    load_samples.sort(key=lambda sample: sample.start_ms)
    origin_ms = load_samples[0].start_ms if load_samples else 0
    starts_s: dict[str, list[float]] = {}
    attempts = []
    for sample in load_samples:
        start_s = (sample.start_ms - origin_ms) / MS_PER_S
        starts_s.setdefault(sample.thread_name, []).append(start_s)
        attempts.append(Attempt(start_s, sample.elapsed_ms, outcome_of(sample, limit_ms)))
    users = tuple(User(of_user[0], len(of_user)) for of_user in starts_s.values())
    active = [sample.all_threads for sample in load_samples if sample.all_threads is not None]
    return Attempts(tuple(attempts), users, max(active, default=None))


@dataclass(frozen=True)
class Recovery:
    """The recovery from an overload: `after_s` is None when it was not seen within `watched_s`.

    It is the first second after the fall of the load from which on, for five seconds, the goodput was at least
    `goodput_least_per_s` and the p90 at most `p90_most_ms`: those of the worst five seconds of the first level, with a
    tolerance of 10 %. Both are None, with a `reason`, when that level is no measure.
    """

    after_s: int | None
    watched_s: int
    goodput_least_per_s: float | None = None
    p90_most_ms: float | None = None
    reason: str = ""


def recovery_of(attempts: Sequence[Attempt], before: OverloadLevel, after: OverloadLevel) -> Recovery:
    """Return the recovery; `before` is the first level, `after` the stage after the fall of the load."""
    watched_s = after.to_s - after.from_s
    rest = [attempt.outcome for attempt in attempts if before.from_s <= attempt.start_s < before.to_s]
    if rest.count(AttemptsOutcome.GOOD) < REST_GOOD_LEAST_RATIO * len(rest):
        what = "the first level was an overload already: there is nothing to return to"
        return Recovery(None, watched_s, reason=what)
    windows = list(_windows(attempts, before))
    goodputs_per_s = [goodput_per_s for goodput_per_s, _ in windows]
    p90s_ms = [found_ms for _, found_ms in windows if found_ms is not None]
    if not windows or len(p90s_ms) < len(windows) or not min(goodputs_per_s):
        what = f"some {WINDOW_S} s of the first level have no answer within the goal: there is nothing to return to"
        return Recovery(None, watched_s, reason=what)
    least_per_s, most_ms = min(goodputs_per_s) * (1 - TOLERANCE_RATIO), max(p90s_ms) * (1 + TOLERANCE_RATIO)
    for second, (goodput_per_s, found_ms) in enumerate(_windows(attempts, after)):
        if found_ms is not None and goodput_per_s >= least_per_s and found_ms <= most_ms:
            return Recovery(second, watched_s, least_per_s, most_ms)
    return Recovery(None, watched_s, least_per_s, most_ms)


def _windows(attempts: Sequence[Attempt], level: OverloadLevel) -> Iterator[tuple[float, float | None]]:
    """Yield goodput per s and p90 (ms, of all requests; None without any) of each five seconds of a level, in order."""
    seconds: dict[int, list[Attempt]] = {}
    for attempt in attempts:
        seconds.setdefault(int(attempt.start_s), []).append(attempt)
    for first in range(level.from_s, level.to_s - WINDOW_S + 1):
        found = [attempt for second in range(first, first + WINDOW_S) for attempt in seconds.get(second, ())]
        good = sum(attempt.outcome is AttemptsOutcome.GOOD for attempt in found)
        yield good / WINDOW_S, p90_ms(found)


def p90_ms(attempts: Sequence[Attempt]) -> float | None:
    """Return the p90 (ms) of requests by the nearest rank; None without any."""
    elapsed = sorted(attempt.elapsed_ms for attempt in attempts)
    return float(elapsed[math.ceil(_P90 * len(elapsed)) - 1]) if elapsed else None
