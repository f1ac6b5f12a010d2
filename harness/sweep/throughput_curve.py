"""Finds the plateau, the cliff, the saturation and the knee of throughput over users.

Single runs of one level differ by chance. A difference between levels is therefore compared with this noise: with the
differences between repeats, else with `SINGLE_RUN_CV` or, if larger, the differences between batches or between the
levels of a flat part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import fmean, median
from typing import NamedTuple

from harness.base.units import MS_PER_S
from harness.metrics.batch_means import estimate
from harness.metrics.distributions import student_t_below, student_t_quantile
from harness.metrics.metric import THROUGHPUT
from harness.metrics.shift import CONFIDENCE
from harness.sweep.levels import Level
from harness.sweep.monotone import never_falling
from harness.sweep.usl import REPEATS_FREEDOM_LEAST, SINGLE_RUN_CV, UslEstimate, UslFit

# The plateau includes levels up to this share below the best; a cliff is a larger fall than this.
PLATEAU_RATIO = 0.05
CLIFF_RATIO = 0.05
# A fall between two levels with repeats is significant below this p-value × number of compared pairs.
_CLIFF_P_VALUE = 0.01
# A fall between levels of single runs is significant from this number of standard errors: the levels before it are
# selected as the best. 1 of 100 sweeps without a fall has a false one (`make bench BENCH=sweep`).
_CLIFF_ERRORS = 3.7
# A fall is a cliff when a step describes the levels better than a fall over three or more steps, by so many standard
# errors. `make bench BENCH=sweep` measures how often gradual falls are called cliffs, and cliffs gradual.
_STEP_ERRORS, _GRADUAL_STEPS_LEAST = 2.6, 3
# Residuals are relative to throughput, and below this share of the best to that share.
_WEIGHED_RATIO = 0.1
# Minimum number of neighbours for an estimate of the noise of single runs.
_NEIGHBOURS_LEAST = 5
# Minimum range of users for flat throughput, as a factor.
_FLAT_FACTOR = 1.25
# Maximum distance of the last flat level from the others, in standard deviations.
_NEAR_CVS = 3.0
# Degrees of freedom of a noise that is assumed to be known, and its quantile for a 95 % interval.
_KNOWN = math.inf
_NORMAL = 1.959964


@dataclass(frozen=True)
class Point:
    """A level with known throughput of successful samples."""

    users: int
    rate_per_s: float
    level: Level


@dataclass(frozen=True)
class Noise:
    """The noise between runs of one level: coefficient of variation and degrees of freedom."""

    cv: float
    freedom: float


@dataclass(frozen=True)
class Plateau:
    """The levels around the best with throughput within 5 % of it; open when they include the last level."""

    from_users: int
    to_users: int
    is_open: bool


@dataclass(frozen=True)
class Cliff:
    """A fall of throughput by more than 5 % from one level to the next, at the best level or beyond it.

    `lowest_per_s` and `highest_per_s` are the least and the greatest throughput beyond it. `is_certain` when the fall
    is significant, `is_gradual` when it is and may be spread over the levels from `users` to `next_users`. `is_single`
    when one of the two levels has only one run.
    """

    users: int
    next_users: int
    fall_ratio: float
    lowest_per_s: float
    highest_per_s: float
    is_certain: bool
    is_gradual: bool
    is_single: bool


@dataclass(frozen=True)
class Saturation:
    """Throughput (per s) that more users do not raise, and the least level that reaches 95 % of it."""

    rate_per_s: float
    from_users: int
    to_users: int


@dataclass(frozen=True)
class Knee:
    """N*, the users at which the bounds of a closed system cross, with its 95 % interval.

    N* is saturated throughput × `round_ms`, the time of an iteration at one user. `assumed_cv` is the assumed noise
    between runs, None when the noise was measured.
    """

    users: UslEstimate
    round_ms: float
    assumed_cv: float | None = None


def noise_of(levels: Sequence[Level]) -> Noise:
    """Return the noise between runs of one level."""
    rates = [[math.log(rate) for rate in level.success_rates_per_s() if rate > 0] for level in levels]
    freedom = sum(max(0, len(logs) - 1) for logs in rates)
    if freedom >= REPEATS_FREEDOM_LEAST:
        squares = sum((log - fmean(logs)) ** 2 for logs in rates for log in logs)
        return Noise(math.sqrt(squares / freedom), freedom)
    # The relative standard error of a run's throughput, estimated from batches.
    totals = [run.total for level in levels for run in level.counted if run.total is not None]
    found = [estimate(total.batches, total.histogram, THROUGHPUT) for total in totals]
    errors = [one.error / one.value for one in found if not isinstance(one, str) and one.value > 0]
    return Noise(max(SINGLE_RUN_CV, median(errors) if errors else 0.0), _KNOWN)


def plateau_of(points: Sequence[Point], best: int) -> Plateau | None:
    """Return the plateau; None when it would have only one level."""
    least = points[best].rate_per_s * (1 - PLATEAU_RATIO)
    first, last = _plateau_start(points, best), best
    while last < len(points) - 1 and points[last + 1].rate_per_s >= least:
        last += 1
    if first == last:
        return None
    return Plateau(points[first].users, points[last].users, last == len(points) - 1)


def cliff_of(points: Sequence[Point], best: int, noise: Noise, law: UslFit | None = None) -> Cliff | None:
    """Return the first significant fall by more than 5 %, else the first other one; None without any.

    A significant fall that is not clearly a step is returned with the levels between which throughput falls. The law
    cannot follow a step: where it is close to all levels, there is none.
    """
    falls = [
        index
        for index, (before, after) in enumerate(pairwise(points[best:]), start=best + 1)
        if before.rate_per_s > 0 and after.rate_per_s < before.rate_per_s * (1 - CLIFF_RATIO)
    ]
    if not falls:
        return None
    certain = [index for index in falls if _is_certain(points, best, index, noise)]
    first, last, is_gradual = falls[0] - 1, falls[0], False
    if certain:
        start = _plateau_start(points, best)
        falling = points[start:]
        gradual = _gradual_fall(falling)
        is_smooth = law is not None and law.falls and law.follows
        steps = [] if is_smooth else [one for one in certain if _is_step(falling, one - start, gradual.squares, noise)]
        is_gradual = not steps
        first, last = start + gradual.first_index, start + gradual.last_index
        if steps:
            first, last = steps[0] - 1, steps[0]
    before, after = points[first], points[last]
    beyond = [point.rate_per_s for point in points[last:]]
    return Cliff(
        users=before.users,
        next_users=after.users,
        fall_ratio=1 - after.rate_per_s / before.rate_per_s,
        lowest_per_s=min(beyond),
        highest_per_s=max(beyond),
        is_certain=bool(certain),
        is_gradual=is_gradual,
        is_single=min(_run_count(before), _run_count(after)) < 2,
    )


def _is_certain(points: Sequence[Point], best: int, index: int, noise: Noise) -> bool:
    before, after = points[index - 1], points[index]
    if min(_run_count(before), _run_count(after)) > 1 and noise.freedom < _KNOWN:
        fall = _log(before) - _log(after)
        error = noise.cv * math.sqrt(1 / _run_count(before) + 1 / _run_count(after))
        pairs = len(points) - 1 - best
        return error == 0 or student_t_below(noise.freedom, -fall / error) * pairs < _CLIFF_P_VALUE
    if any(point.rate_per_s >= before.rate_per_s * (1 - CLIFF_RATIO) for point in points[index:]):
        return False  # throughput recovers: that one level was low
    flat, beyond = points[_plateau_start(points, best) : index], points[index:]
    error = _single_cv(flat, beyond, noise) * math.sqrt(1 / len(flat) + 1 / len(beyond))
    return fmean(map(_log, flat)) - fmean(map(_log, beyond)) > _CLIFF_ERRORS * error


def _plateau_start(points: Sequence[Point], best: int) -> int:
    least = points[best].rate_per_s * (1 - PLATEAU_RATIO)
    first = best
    while first > 0 and points[first - 1].rate_per_s >= least:
        first -= 1
    return first


def _single_cv(flat: Sequence[Point], beyond: Sequence[Point], noise: Noise) -> float:
    """Return the noise, at least that between neighbours of the same part where there are enough of them."""
    steps = [_log(after) - _log(before) for part in (flat, beyond) for before, after in pairwise(part)]
    if len(steps) < _NEIGHBOURS_LEAST:
        return noise.cv
    return max(noise.cv, math.sqrt(sum(step**2 for step in steps) / len(steps) / 2))


class _GradualFall(NamedTuple):
    """A fall over several levels: the indexes of its first and last one, and its squared relative residuals."""

    first_index: int
    last_index: int
    squares: float


def _gradual_fall(points: Sequence[Point]) -> _GradualFall:
    """Return the best fit of throughput that is flat, falls linearly over users or their logarithm, and is flat again.

    The residuals of two levels are infinite.
    """
    steps_least = min(_GRADUAL_STEPS_LEAST, max(2, len(points) - 1))
    top = max(point.rate_per_s for point in points)
    fits = [
        _GradualFall(first, last, _squares(points, [min(max(at, users[first]), users[last]) for at in users], top))
        for users in ([float(point.users) for point in points], [math.log(point.users) for point in points])
        for first, last in combinations(range(len(points)), 2)
        if last >= first + steps_least
    ]
    return min(fits, key=lambda fit: fit.squares, default=_GradualFall(0, len(points) - 1, math.inf))


def _is_step(points: Sequence[Point], index: int, gradual_squares: float, noise: Noise) -> bool:
    """Return whether a step, after which throughput may fall further, has clearly smaller squares than these."""
    flat, beyond, top = points[:index], points[index:], max(point.rate_per_s for point in points)
    further = (_squares(beyond, [scale(point.users) for point in beyond], top) for scale in (float, math.log))
    squares = _squares(flat, [0.0] * len(flat), top) + min(further)
    return gradual_squares - squares > (_STEP_ERRORS * _single_cv(flat, beyond, noise)) ** 2


def _squares(points: Sequence[Point], shape: Sequence[float], top_per_s: float) -> float:
    """Return the squared relative residuals of throughput that falls linearly over `shape`, or is constant."""
    rates = [point.rate_per_s for point in points]
    weights = [(_run_count(point) or 1) / max(point.rate_per_s, _WEIGHED_RATIO * top_per_s) ** 2 for point in points]
    total = sum(weights)
    x_mean, y_mean = (sum(w * one for w, one in zip(weights, part, strict=True)) / total for part in (shape, rates))
    moved = [(w, x - x_mean, y - y_mean) for w, x, y in zip(weights, shape, rates, strict=True)]
    spread = sum(w * x**2 for w, x, _ in moved)
    slope = min(0.0, sum(w * x * y for w, x, y in moved) / spread) if spread else 0.0
    return sum(w * (y - slope * x) ** 2 for w, x, y in moved)


def _run_count(point: Point) -> int:
    return len(point.level.success_rates_per_s())


def _log(point: Point) -> float:
    return math.log(max(point.rate_per_s, 1e-9))


def saturation_of(points: Sequence[Point], plateau: Plateau | None, falls: bool, noise: Noise) -> Saturation | None:
    """Return the throughput that more users do not raise; None when it still rises at the last level.

    `points` end before a cliff. When throughput falls beyond a peak (`falls`), the plateau around the best is used.
    """
    if falls:
        flat = [point for point in points if plateau and plateau.from_users <= point.users <= plateau.to_users]
    else:
        curve = never_falling([point.rate_per_s for point in points], [_run_count(point) or 1 for point in points])
        near = curve[-1] * (1 - max(PLATEAU_RATIO, _NEAR_CVS * noise.cv))
        top = fmean(point.rate_per_s for point, rate in zip(points, curve, strict=True) if rate >= near)
        flat = [point for point, rate in zip(points, curve, strict=True) if rate >= top * (1 - PLATEAU_RATIO)]
    if len(flat) < 2 or flat[-1].users < _FLAT_FACTOR * flat[0].users:
        return None
    return Saturation(fmean(point.rate_per_s for point in flat), flat[0].users, flat[-1].users)


def knee_of(points: Sequence[Point], saturation: Saturation | None, noise: Noise) -> Knee | None:
    """Return N*; None without a level of one user or without saturation.

    P. J. Denning, J. P. Buzen, "The operational analysis of queueing network models", ACM Computing Surveys 10(3),
    1978: throughput is at most that of the bottleneck, and at most users ÷ (response and think time without waiting).
    """
    first = points[0]
    if saturation is None or first.users != 1 or first.rate_per_s <= 0:
        return None
    round_s = first.users / first.rate_per_s
    users = saturation.rate_per_s * round_s
    flat_runs = sum(
        _run_count(point) or 1 for point in points if saturation.from_users <= point.users <= saturation.to_users
    )
    t = student_t_quantile(noise.freedom, (1 + CONFIDENCE) / 2) if noise.freedom < _KNOWN else _NORMAL
    factor = math.exp(t * noise.cv * math.sqrt(1 / (_run_count(first) or 1) + 1 / flat_runs))
    assumed = noise.cv if noise == Noise(SINGLE_RUN_CV, _KNOWN) else None
    return Knee(UslEstimate(users, users / factor, users * factor), round_s * MS_PER_S, assumed)
