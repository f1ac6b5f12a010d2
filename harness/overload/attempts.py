"""Classifies the requests of an overload test: answered within the goal, late, rejected or timed out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from harness.base.units import MS_PER_S
from harness.jtl.sample import Sample, thread_group_of
from harness.plan.jmx import LOAD_GROUP

# A rejection is fast when it takes no longer than this, nor than an answer within the goal.
FAST_MOST_MS = 1000
_TIME_OUT_CODE, _TIME_OUT_MESSAGE = "timeoutexception", "timed out"


class Outcome(StrEnum):
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
    outcome: Outcome

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


def outcome_of(sample: Sample, limit_ms: float) -> Outcome:
    """Return the outcome of a request; `limit_ms` is the longest response time within the goal.

    A failure is a time-out when the client gave up: on connecting, or on the answer. Every other failure is a
    rejection: refused or reset connections, error codes, wrong content.
    """
    if sample.success:
        return Outcome.GOOD if sample.elapsed_ms <= limit_ms else Outcome.LATE
    if _TIME_OUT_CODE in sample.code.lower() or _TIME_OUT_MESSAGE in sample.message.lower():
        return Outcome.TIMED_OUT
    return Outcome.REJECTED_FAST if sample.elapsed_ms <= min(limit_ms, FAST_MOST_MS) else Outcome.REJECTED_SLOWLY


def attempts_of(samples: Iterable[Sample], limit_ms: float) -> Attempts:
    """Return the requests of the load among the samples of a run; setUp, tearDown and transactions are left out."""
    found = [
        sample for sample in samples if not sample.is_transaction and thread_group_of(sample.thread_name) == LOAD_GROUP
    ]
    found.sort(key=lambda sample: sample.start_ms)
    origin_ms = found[0].start_ms if found else 0
    first_s: dict[str, float] = {}
    counts: dict[str, int] = {}
    attempts = []
    for sample in found:
        start_s = (sample.start_ms - origin_ms) / MS_PER_S
        first_s.setdefault(sample.thread_name, start_s)
        counts[sample.thread_name] = counts.get(sample.thread_name, 0) + 1
        attempts.append(Attempt(start_s, sample.elapsed_ms, outcome_of(sample, limit_ms)))
    users = tuple(User(start_s, counts[name]) for name, start_s in first_s.items())
    active = [sample.all_threads for sample in found if sample.all_threads is not None]
    return Attempts(tuple(attempts), users, max(active, default=None))
