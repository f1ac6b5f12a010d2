"""The result of one variant: its levels, its recovery and its verdict, computed from the requests of its run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from harness.kinds.overload.attempts import Attempt, Attempts, AttemptsOutcome, Recovery, p90_ms, recovery_of
from harness.kinds.overload.levels import OverloadLevel, counted_levels, recovery_level, scheduled_users
from harness.metrics import batch_means
from harness.metrics.batch_means import Estimate
from harness.metrics.distributions import student_t_quantile
from harness.metrics.shift import CONFIDENCE
from harness.metrics.slope import slope

# A user who starts later than this after the schedule is missing.
LATE_LEAST_S = 1.0
# A rise of the response time within a level: its greatest p-value, and its least share of the mean.
_RISE_P_MOST, _RISE_LEAST_RATIO = 0.01, 0.2
_REJECTED = (AttemptsOutcome.REJECTED_FAST, AttemptsOutcome.REJECTED_SLOWLY)


class GoodputInterval(NamedTuple):
    """The 95 % interval of a goodput."""

    low_per_s: float
    high_per_s: float


@dataclass(frozen=True)
class LevelResult:
    """A level: what was offered, and what became of the requests that started in it.

    `offered_per_s` are the requests per second that its users make when nothing slows them down. Its users are those
    of the schedule, those who started in it, and those of the schedule up to its end who had not started a second
    later (`missing_user_count`). The five counts sum up to `sample_count`. `goodput` is the estimate of the
    answers within the goal per second that arrived in the level, from batches of one second. `p90_ms` is that of all
    requests. `is_rising` means that accepted requests take longer and longer within the level: their queue still grows.
    """

    offered_ratio: float
    length_s: int
    offered_per_s: float
    scheduled_user_count: int
    started_user_count: int
    missing_user_count: int
    sample_count: int
    good_count: int
    late_count: int
    rejected_fast_count: int
    rejected_slowly_count: int
    timed_out_count: int
    goodput: Estimate
    p90_ms: float | None
    is_rising: bool = False

    @property
    def started_per_s(self) -> float:
        """The requests that started, per second."""
        return self.sample_count / self.length_s

    @property
    def interval(self) -> GoodputInterval:
        """The interval of the goodput; no end of it is below 0 or above the requests that started."""
        goodput = self.goodput
        reach = student_t_quantile(goodput.freedom, (1 + CONFIDENCE) / 2) * goodput.error if goodput.error else 0.0
        high_per_s = min(max(self.started_per_s, goodput.value), goodput.value + reach)
        return GoodputInterval(max(0.0, goodput.value - reach), high_per_s)


@dataclass(frozen=True)
class VariantResult:
    """The levels of a variant in order, and its recovery.

    `requests_per_user` are those of the users of warm-up and first level. `most_users` were active at once; None when
    the JTL does not know. `time_outs` are those of the client as text. `run_state` and `run_reasons` are the verdict of
    the run.
    """

    levels: tuple[LevelResult, ...]
    recovery: Recovery
    requests_per_user: float
    most_users: int | None
    time_outs: str
    run_state: str
    run_reasons: tuple[str, ...]


def level_results(found: Attempts, capacity_per_s: float, level_s: int) -> tuple[LevelResult, ...]:
    """Return the results of the levels; `capacity_per_s` are the new users per second of 100 %."""
    per_user = requests_per_user(found, level_s)
    return tuple(_level_result(level, found, capacity_per_s, per_user) for level in counted_levels(level_s))


def recovery_result(found: Attempts, level_s: int) -> Recovery:
    """Return the recovery after the highest level."""
    return recovery_of(found.attempts, counted_levels(level_s)[0], recovery_level(level_s))


def requests_per_user(found: Attempts, level_s: int) -> float:
    """Return the mean number of requests of the users who arrived before the load exceeds 50 %; 0 without any."""
    counts = [user.attempt_count for user in found.users if user.start_s < counted_levels(level_s)[0].to_s]
    return sum(counts) / len(counts) if counts else 0.0


def _level_result(level: OverloadLevel, all_attempts: Attempts, capacity_per_s: float, per_user: float) -> LevelResult:
    length_s, users_per_s = level.to_s - level.from_s, capacity_per_s * level.offered_ratio
    started_so_far = sum(user.start_s < level.to_s + LATE_LEAST_S for user in all_attempts.users)
    attempts = [attempt for attempt in all_attempts.attempts if level.from_s <= attempt.start_s < level.to_s]
    counts = Counter(attempt.outcome for attempt in attempts)
    # The good answers that arrived in each second, not those whose requests started in it: a busy system answers
    # steadily, whatever the chance of the arrivals.
    good = Counter(int(attempt.end_s) for attempt in all_attempts.attempts if attempt.outcome is AttemptsOutcome.GOOD)
    return LevelResult(
        offered_ratio=level.offered_ratio,
        length_s=length_s,
        offered_per_s=users_per_s * per_user,
        scheduled_user_count=round(users_per_s * length_s),
        started_user_count=sum(level.from_s <= user.start_s < level.to_s for user in all_attempts.users),
        missing_user_count=max(0, round(scheduled_users(level, capacity_per_s)) - started_so_far),
        sample_count=len(attempts),
        good_count=counts[AttemptsOutcome.GOOD],
        late_count=counts[AttemptsOutcome.LATE],
        rejected_fast_count=counts[AttemptsOutcome.REJECTED_FAST],
        rejected_slowly_count=counts[AttemptsOutcome.REJECTED_SLOWLY],
        timed_out_count=counts[AttemptsOutcome.TIMED_OUT],
        goodput=batch_means.mean([float(good[second]) for second in range(level.from_s, level.to_s)]),
        p90_ms=p90_ms(attempts),
        is_rising=_is_rising([one for one in attempts if one.outcome not in _REJECTED], level),
    )


def _is_rising(accepted: Sequence[Attempt], level: OverloadLevel) -> bool:
    """Return whether the mean response time of each second rises over the level, certainly and by a share of it."""
    by_second: dict[int, list[int]] = {}
    for attempt in accepted:
        by_second.setdefault(int(attempt.start_s), []).append(attempt.elapsed_ms)
    points = [(float(second), fmean(times)) for second, times in sorted(by_second.items())]
    line = slope((points,))
    if line is None or line.rise_p_value > _RISE_P_MOST:
        return False
    return line.value * (level.to_s - level.from_s) > _RISE_LEAST_RATIO * fmean(value for _, value in points)
