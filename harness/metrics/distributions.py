"""Computes probabilities of Student's t, chi-squared, F and binomial distributions, and quantiles of Student's t.

SciPy has them too, but its 114 MB would be most of what an installation needs. tests/metrics/test_distributions.py
compares them with SciPy. Source of the continued fractions: W. H. Press and others, "Numerical Recipes", 3rd edition,
Cambridge 2007, 6.2 and 6.4 (Lentz's method).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300
_PRECISION = 1e-15
# A continued fraction takes about √max(a, b) steps; a quantile takes four.
_STEPS_MOST = 100_000
_NEWTON_STEPS_MOST = 200
_REMEMBERED = 4096


def student_t_below(freedom: float, t: float) -> float:
    """Return the probability (0-1) of a value of Student's t of at most `t`; NaN without degrees of freedom."""
    if not freedom > 0 or math.isnan(t):
        return math.nan
    tail = _student_t_tail(freedom, abs(t))
    return tail if t < 0 else 1 - tail


@lru_cache(maxsize=_REMEMBERED)
def student_t_quantile(freedom: float, probability: float) -> float:
    """Return the t below which Student's t is with this probability (0-1, exclusive); NaN where there is none."""
    if not freedom > 0 or not 0 < probability < 1:
        return math.nan
    tail = min(probability, 1 - probability)
    if tail == 0.5:
        return 0.0
    t, low, high = -NormalDist().inv_cdf(tail), 0.0, math.inf
    for _ in range(_NEWTON_STEPS_MOST):
        tail_at_t = _student_t_tail(freedom, t)
        low, high = (t, high) if tail_at_t > tail else (low, t)
        # Newton's method on the logarithm, which is nearly straight.
        step = math.log(tail_at_t / tail) * tail_at_t / _student_t_density(freedom, t) if tail_at_t > 0 else -math.inf
        after = t + step
        if not low < after < high:
            after = 2 * t if math.isinf(high) else (low + high) / 2
        if abs(after - t) <= 1e-14 * t:
            break
        t = after
    return -t if probability < 0.5 else t


def chi_squared_above(freedom: float, value: float) -> float:
    """Return the probability (0-1) of a chi-squared of more than `value`."""
    if value <= 0:
        return 1.0
    a, x = freedom / 2, value / 2
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        divisor = a
        while term > total * _PRECISION:
            divisor += 1
            term *= x / divisor
            total += term
        return 1 - front * total
    # 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - …))
    return front * _fraction(lambda n: (-n * (n - a), x + 2 * n + 1 - a), x + 1 - a)


def f_above(freedom: float, other_freedom: float, value: float) -> float:
    """Return the probability (0-1) of an F, with these degrees of freedom above and below, of more than `value`."""
    if value <= 0:
        return 1.0
    below, above = other_freedom, freedom * value
    return _beta_ratio(other_freedom / 2, freedom / 2, below / (below + above), above / (below + above))


def binomial_at_most(successes: int, count: int, ratio: float) -> float:
    """Return the probability (0-1) of at most so many successes in `count` trials, each with probability `ratio`."""
    return 1.0 if successes >= count else _beta_ratio(count - successes, successes + 1, 1 - ratio, ratio)


def _student_t_tail(freedom: float, t: float) -> float:
    """Return the probability of more than `t`, which is at least 0."""
    square = t * t
    if math.isinf(square):
        return 0.0
    return _beta_ratio(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square)) / 2


def _student_t_density(freedom: float, t: float) -> float:
    logarithm = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    return math.exp(logarithm - (freedom + 1) / 2 * math.log1p(t * t / freedom))


def _beta_ratio(a: float, b: float, x: float, y: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b); `y` is 1 - x, exact where x is near 1."""
    if x <= 0:
        return 0.0
    if y <= 0:
        return 1.0
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y)
    front = math.exp(logarithm)
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, y) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    # Plain tuples: a test of many changes needs a hundred thousand of them.
    def part(number: int) -> tuple[float, float]:
        half, is_odd = divmod(number, 2)
        if is_odd:
            return -(a + half) * (a + b + half) * x / ((a + number - 1) * (a + number)), 1.0
        return half * (b - half) * x / ((a + number - 1) * (a + number)), 1.0

    return _fraction(part, 1.0)


def _fraction(part: Callable[[int], tuple[float, float]], first: float) -> float:
    """Return 1 / (first + n₁ / (d₁ + n₂ / (d₂ + …))); `part` returns the n and d of a number from 1 (Lentz)."""
    c, d = 1 / _TINY, 1 / (first or _TINY)
    value = d
    for number in range(1, _STEPS_MOST):
        numerator, divisor = part(number)
        d = 1 / (divisor + numerator * d or _TINY)
        c = divisor + numerator / c or _TINY
        value *= c * d
        if abs(c * d - 1) <= _PRECISION:
            break
    return value
