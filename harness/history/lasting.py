"""Decide which change points of a series of nightly runs are lasting changes, although neighbours correlate.

The machine drifts over days, so neighbouring values correlate, and a t-test for independent ones calls such a drift a
change: with a correlation of 0.6 in half of all series. Here the values between two change points scatter as a first
order autoregressive series. Its correlation, which is too low when it is estimated about estimated means, is corrected;
the variance of a mean is that of so correlated values; values beyond 2.5 deviations of their interval are moved there.
The weakest change is removed, one after the other, until each is certain. The bench `answers` measures the rates.

Sources: G. V. Bayley, J. M. Hammersley, "The effective number of independent observations in an autocorrelated time
series", J. R. Statist. Soc. Suppl. 8(2), 1946; M. G. Kendall, "Note on bias in the estimation of autocorrelation",
Biometrika 41, 1954; W. J. Dixon, J. W. Tukey, "Approximate behavior of the distribution of Winsorized t",
Technometrics 10(1), 1968.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from harness.history.change_points import ChangePoint, possible_changes
from harness.history.trend import Gauge
from harness.metrics.distributions import student_t_below

# A shorter interval is not lasting.
VALUES_LEAST = 5
# The level of a single test. The place of a change is chosen, and a series has many: so at most 5 % of unchanged series
# with a correlation of up to 0.8 have a lasting change. A longer series has more places.
_P_MOST = 0.0002
_SERIES_LENGTH = 60
_CORRELATION_MOST = 0.9
# Bias of a correlation per estimated mean: (1 + 3 r) / n, and a quarter more because the places are chosen, too.
_BIAS = 1.25
_DEVIATIONS_MOST = 2.5
_DEVIATION_PER_MAD = 1.4826

_Values = NDArray[np.float64]


def lasting_changes(values: Sequence[float], changes: Sequence[ChangePoint], gauge: Gauge) -> tuple[ChangePoint, ...]:
    """Return the change points that are lasting changes, with the means (unit of the values) between them."""
    levels = np.asarray([gauge.level(value) for value in values])
    indexes = [change.index for change in changes]
    p_most = _P_MOST * min(1.0, _SERIES_LENGTH / max(1, len(levels)))
    while indexes:
        intervals = [_winsorized(levels[start:end]) for start, end in pairwise([0, *indexes, len(levels)])]
        correlation = _correlation([one - one.mean() for one in intervals])
        p_values = [_p_value(before, after, correlation) for before, after in pairwise(intervals)]
        weakest = max(range(len(indexes)), key=p_values.__getitem__)
        if p_values[weakest] < p_most:
            return tuple(_changes(values, indexes, changes))
        del indexes[weakest]
    return ()


def _changes(values: Sequence[float], indexes: Sequence[int], changes: Sequence[ChangePoint]) -> list[ChangePoint]:
    series = np.asarray(values, dtype=float)
    known = {change.index: change for change in changes}
    return [
        replace(known[index], before=float(series[start:index].mean()), after=float(series[index:end].mean()))
        for start, index, end in possible_changes(indexes, len(series))
    ]


def _winsorized(levels: _Values) -> _Values:
    """Return the values of an interval; those far from its median are moved to 2.5 deviations from it."""
    middle = float(np.median(levels))
    reach = _DEVIATIONS_MOST * _DEVIATION_PER_MAD * float(np.median(np.abs(levels - middle)))
    return np.clip(levels, middle - reach, middle + reach) if reach else levels


def _correlation(residuals: Sequence[_Values]) -> float:
    """Return the correlation of neighbours within intervals, from 0 to 0.9, corrected for its bias."""
    squares = sum(float((one * one).sum()) for one in residuals)
    count, means = sum(map(len, residuals)), _BIAS * len(residuals)
    if not squares:
        return 0.0
    if count <= 3 * means:
        return _CORRELATION_MOST
    found = sum(float((one[1:] * one[:-1]).sum()) for one in residuals) / squares
    return min(max((count * found + means) / (count - 3 * means), 0.0), _CORRELATION_MOST)


def _p_value(before: _Values, after: _Values, correlation: float) -> float:
    """Return Student's p-value of the difference of two means of correlated values; 1 for too few of them."""
    counts = [len(before), len(after)]
    inflations = [_inflation(count, correlation) for count in counts]
    freedom = sum(counts) - sum(inflations)
    if min(counts) < VALUES_LEAST or freedom < 0.5:
        return 1.0
    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in (before, after))
    parts = sum(inflation / count for count, inflation in zip(counts, inflations, strict=True))
    difference, error = float(after.mean() - before.mean()), math.sqrt(squares / freedom * parts)
    if not error:
        return 0.0
    independent = sum(count / inflation for count, inflation in zip(counts, inflations, strict=True))
    return 2 * student_t_below(max(independent - 2, 1.0), -abs(difference) / error)


def _inflation(count: int, correlation: float) -> float:
    """Return by how much the variance of a mean of correlated values is greater than that of independent ones."""
    rest = 1 - correlation
    return (1 + correlation) / rest - 2 * correlation * (1 - correlation**count) / (count * rest**2)
