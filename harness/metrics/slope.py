"""Fits a straight line to values over time and gives its slope with an interval, for values that follow each other.

Neighbouring values of memory resemble each other, so ordinary least squares calls chance a trend. Here the deviations
from the line are an autoregressive series of order 1, or a random walk when that cannot be excluded: values and times
are transformed until the deviations are independent (generalised least squares), and the line is fitted to these. As a
random walk, a few steps or an idle saw tooth are no trend. Groups of values have an intercept each.

Sources: S. J. Prais, C. B. Winsten, "Trend estimators and serial correlation", Cowles Commission 1954 (the
transformation); P. Perron, T. Yabu, "Estimating deterministic trends with an integrated or stationary noise component",
J. Econometrics 151, 2009 (a random walk when it cannot be excluded); F. H. C. Marriott, J. A. Pope, "Bias in the
estimation of autocorrelations", Biometrika 41, 1954.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from harness.metrics.distributions import student_t_below, student_t_quantile
from harness.metrics.series_fit import centred, dot, residuals, without
from harness.metrics.shift import CONFIDENCE

# (x, y) in order of x.
Points = Sequence[tuple[float, float]]
# The autocorrelation of a random walk, estimated from n values about their line, is 1 - 20 / n and more in about 19 of
# 20 cases (Dickey and Fuller's distribution with a trend); an autocorrelation from there on may be that of one.
_MAY_BE_A_WALK = 20.0
_POINTS_FOR_CORRELATION = 6


@dataclass(frozen=True)
class Slope:
    """A slope (units of y per unit of x), its standard error, and the degrees of freedom of that."""

    value: float
    error: float
    freedom: int

    @property
    def reach(self) -> float:
        """Return how far the 95 % interval (Student's t) extends on both sides of the slope."""
        return student_t_quantile(self.freedom, (1 + CONFIDENCE) / 2) * self.error

    @property
    def rise_p_value(self) -> float:
        """Return the probability of such a slope or a greater one if there is no rise."""
        if self.error == 0:
            return 0.0 if self.value > 0 else 1.0
        return student_t_below(self.freedom, -self.value / self.error)


def slope(groups: Sequence[Points], correlation: float = 0.0) -> Slope | None:
    """Return the common slope of groups of points; None without a degree of freedom, or when no x differs.

    `correlation` is that of a deviation with the one before it: 0 for independent values (ordinary least squares, an
    intercept per group), 1 for a random walk (the mean of the differences).
    """
    pairs = [pair for points in groups for pair in _without_intercept(points, correlation)]
    freedom = sum(len(points) for points in groups) - sum(1 for points in groups if points) - 1
    spread = sum(x * x for x, _ in pairs)
    if freedom < 1 or spread <= 0:
        return None
    value = sum(x * y for x, y in pairs) / spread
    square_sum = sum((y - value * x) ** 2 for x, y in pairs)
    return Slope(value, math.sqrt(square_sum / freedom / spread), freedom)


def _without_intercept(points: Points, correlation: float) -> list[tuple[float, float]]:
    """Return the transformed points, with the part that an intercept explains removed from x and y."""
    xs, ys, ones = (
        _transformed(values, correlation)
        for values in ([x for x, _ in points], [y for _, y in points], [1.0] * len(points))
    )
    return list(zip(without(xs, ones), without(ys, ones), strict=True))


def _transformed(values: Sequence[float], correlation: float) -> list[float]:
    """Return each value minus what the one before it explains; the first has the same variance as the others."""
    if not values:
        return []
    first = math.sqrt(1 - correlation * correlation) * values[0]
    return [first, *(after - correlation * before for before, after in pairwise(values))]


def correlation_of(points: Points) -> float:
    """Return the correlation (0-1) of neighbouring deviations from the line through the points, rather too high.

    It is 1 when a random walk cannot be excluded, and for too few points.
    """
    count = len(points)
    if slope((points,)) is None or count < _POINTS_FOR_CORRELATION:
        return 1.0
    xs, ys = ([point[index] for point in points] for index in (0, 1))
    rests, deviations = residuals(ys, xs), centred(ys)
    squares = dot(rests, rests)
    if squares <= 1e-18 * dot(deviations, deviations):
        return 0.0  # all on one line
    estimate = dot(rests[:-1], rests[1:]) / squares
    # An estimate is about (2 + 4 r) / n too low when a line was fitted.
    corrected = max(0.0, (estimate + 2 / count) / (1 - 4 / count))
    if corrected > 1 - _MAY_BE_A_WALK / count:
        return 1.0
    # One standard error on the safe side: a tail of 0.1 % needs it.
    return min(1.0, corrected + 1 / math.sqrt(count))
