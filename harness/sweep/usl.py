"""Fits the Universal Scalability Law to throughput over users, and finds the peak of throughput.

N. J. Gunther, "Guerrilla Capacity Planning", Springer, 2007: X(N) = γN / (1 + α(N - 1) + βN(N - 1)). γ is the
throughput of one user, α the serial share of the work, β the cost of keeping users consistent with each other.
With β > 0 there is a peak at √((1 - α) / β) users; with β = 0 throughput levels off at γ / α.

Throughput of a closed queue rises to the capacity of its bottleneck and stays there. A fit of the law to such levels
has a peak, too. Therefore a peak is reported only if the measured throughput falls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from harness.metrics.distributions import chi_squared_above, student_t_quantile
from harness.sweep.monotone import fall_p_value

LEAST_LEVELS = 6
# The law fits when no level is farther from the curve than this share of the best throughput.
FOLLOWS_RATIO = 0.10
CONFIDENCE = 0.95
_PARAMETERS = 3
# Assumed minimum noise between single runs of one level without repeats (coefficient of variation).
SINGLE_RUN_CV = 0.03
# Throughput falls below this p-value: 1 of 100 sweeps without a fall has a false one.
FALL_P_VALUE = 0.01
# Below this p-value of the residuals, noise is larger than SINGLE_RUN_CV and is estimated from the residuals only.
_NOISIER_P_VALUE = 0.05
# Minimum degrees of freedom for an estimate of noise from repeats.
REPEATS_FREEDOM_LEAST = 4
# A sum of squares below this share of all is rounding: the levels are on the curve.
_ROUNDING = 1e-20
# Leverage of a point that the curve always passes through.
_LEVERAGE_MOST = 0.999
_LOG_MOST = 50.0
# Bounds of γ ÷ the best throughput, α and β.
_LOW, _HIGH = (0.0,) * _PARAMETERS, (math.inf, 1.0, math.inf)
_STEPS_MOST = 500
_STEP_LEAST = 1e-12
_DAMPING_LEAST, _DAMPING_MOST = 1e-10, 1e12


@dataclass(frozen=True)
class UslEstimate:
    """A value with its 95 % interval; the ends are None when the levels do not determine it."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class UslFit:
    """The law's parameters: γ per s, α and β without unit.

    `peak_users` is None without a peak. `r_squared` is None when throughput is the same at all levels.
    `worst_ratio` is the greatest distance of a level's median from the curve ÷ the best throughput. `falls` when the
    measured throughput falls over the levels by more than noise.
    """

    gamma_per_s: UslEstimate
    alpha: UslEstimate
    beta: UslEstimate
    peak_users: UslEstimate | None
    r_squared: float | None
    worst_ratio: float
    worst_users: int
    falls: bool = False

    @property
    def follows(self) -> bool:
        """Whether the curve is close to every level; it cannot follow a cliff."""
        return self.worst_ratio <= FOLLOWS_RATIO

    @property
    def limit_per_s(self) -> float | None:
        """The throughput (per s) that many users approach when β is 0; None without such a limit."""
        return self.gamma_per_s.value / self.alpha.value if self.beta.value == 0 and self.alpha.value > 0 else None

    def rate_per_s(self, users: float) -> float:
        """Return the throughput (per s) that the law gives for a number of users."""
        return throughput(self.gamma_per_s.value, self.alpha.value, self.beta.value, users)


def throughput(gamma_per_s: float, alpha: float, beta: float, users: float) -> float:
    """Return the law's throughput (per s)."""
    return gamma_per_s * users / (1 + alpha * (users - 1) + beta * users * (users - 1))


def fit(points: Sequence[tuple[int, float]], noise_ratio: float = SINGLE_RUN_CV) -> UslFit | None:
    """Return the fit of (users, throughput per s), one point per run; None with fewer than six levels above 0.

    Nonlinear least squares on throughput, 0 <= α <= 1, γ and β from 0. The intervals are those of the linearised model:
    the covariance of the parameters at the fit (HC3, because the variance depends on the users), Student's t with
    points - 3 degrees of freedom, limited to the bounds. The interval of the peak is computed on its logarithm. A peak
    is reported when throughput falls by more than noise (`fall_p_value`). Noise is the difference between repeats; for
    single runs the larger of `noise_ratio`, a share of the best throughput, and the residuals. `make bench BENCH=sweep`
    measures the coverage of the intervals and the rate of false peaks.

    J. S. Long, L. H. Ervin, "Using heteroscedasticity consistent standard errors", Am. Statist. 54(3), 2000.
    """
    points = [(users, rate) for users, rate in points if rate > 0]
    if len({users for users, _ in points}) < LEAST_LEVELS:
        return None
    users = np.array([users for users, _ in points], dtype=float)
    rates = np.array([rate for _, rate in points], dtype=float)
    best = float(rates.max())
    terms = np.stack([np.ones_like(users), users - 1, users * (users - 1)])
    minimum = _least_squares(users, rates / best, _start(users, rates, terms))
    squares, scatter = float(minimum.missed @ minimum.missed), float(((rates - rates.mean()) ** 2).sum()) / best**2
    missed = {int(level): abs(float(np.median(minimum.missed[users == level]))) for level in np.unique(users)}
    worst = max(missed, key=lambda level: missed[level])
    gamma, alpha, beta = (float(value) for value in minimum.values * (best, 1, 1))
    # A β that changes the curve by less than a millionth is 0 apart from floating point.
    beta = 0.0 if beta * float(users.max()) ** 2 < 1e-6 else beta
    covariance = _covariance(minimum.jacobian / (best, 1, 1), minimum.missed, scatter)
    t = student_t_quantile(len(points) - _PARAMETERS, (1 + CONFIDENCE) / 2)
    falls = _fall_p_value(points, best, squares, noise_ratio) < FALL_P_VALUE
    estimates = [
        _estimate(value, covariance, index, t, limit)
        for index, (value, limit) in enumerate(zip((gamma, alpha, beta), _HIGH, strict=True))
    ]
    return UslFit(
        gamma_per_s=estimates[0],
        alpha=estimates[1],
        beta=estimates[2],
        peak_users=_peak(estimates, covariance, t, points) if falls else None,
        r_squared=1 - squares / scatter if scatter > _ROUNDING else None,
        worst_ratio=missed[worst],
        worst_users=worst,
        falls=falls,
    )


@dataclass(frozen=True)
class _Minimum:
    """Parameters with the least sum of squares, with the residuals and the Jacobian at it."""

    values: np.ndarray
    missed: np.ndarray
    jacobian: np.ndarray


def _at(users: np.ndarray, rates: np.ndarray, values: np.ndarray) -> _Minimum:
    gamma, alpha, beta = values
    slowed = 1 + alpha * (users - 1) + beta * users * (users - 1)
    curve = users / slowed
    slope = -gamma * curve / slowed
    jacobian = np.stack([curve, slope * (users - 1), slope * users * (users - 1)], axis=1)
    return _Minimum(values, gamma * curve - rates, jacobian)


def _least_squares(users: np.ndarray, rates: np.ndarray, start: np.ndarray) -> _Minimum:
    """Return the minimum near `start`, by Levenberg and Marquardt; a parameter at its bound moves only inwards."""
    here, damping = _at(users, rates, np.clip(start, _LOW, _HIGH)), 1e-3
    for _ in range(_STEPS_MOST):
        gradient = here.jacobian.T @ here.missed
        is_free = ((here.values > _LOW) | (gradient < 0)) & ((here.values < _HIGH) | (gradient > 0))
        lengths = np.sqrt((here.jacobian**2).sum(axis=0))
        is_free &= lengths > 0
        scaled = here.jacobian[:, is_free] / lengths[is_free]
        step = np.zeros_like(here.values)
        squares = scaled.T @ scaled + damping * np.eye(scaled.shape[1])
        step[is_free] = -np.linalg.solve(squares, scaled.T @ here.missed) / lengths[is_free]
        there = _at(users, rates, np.clip(here.values + step, _LOW, _HIGH))
        if not there.missed @ there.missed < here.missed @ here.missed:
            damping *= 10
            if damping > _DAMPING_MOST:
                break
            continue
        has_moved = np.any(np.abs(there.values - here.values) > _STEP_LEAST * np.abs(here.values))
        here, damping = there, max(damping / 10, _DAMPING_LEAST)
        if not has_moved:
            break
    return here


def _start(users: np.ndarray, rates: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return the start of the search: N / X is linear in 1/γ, α/γ and β/γ; weights approximate the squares of X."""
    weights = rates**2 / users
    weights = weights / weights.max()
    inverse, alpha, beta = _not_negative((terms * weights).T, users / rates * weights)
    gamma = 1 / inverse if inverse > 0 else float((rates / users).max())
    return np.array([gamma / rates.max(), min(1.0, alpha * gamma), beta * gamma])


def _not_negative(terms: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the linear least squares without negative parameters: the best of all choices of parameters that are 0."""
    best, least = np.zeros(terms.shape[1]), float(values @ values)
    for used in product((True, False), repeat=terms.shape[1]):
        solution = np.zeros(terms.shape[1])
        if any(used):
            solution[list(used)] = np.linalg.lstsq(terms[:, list(used)], values)[0]
        missed = terms @ solution - values
        if (solution >= 0).all() and missed @ missed < least:
            best, least = solution, float(missed @ missed)
    return best


def _fall_p_value(points: Sequence[tuple[int, float]], best: float, squares: float, noise_ratio: float) -> float:
    """Return the p-value of the hypothesis that throughput never falls; rates are shares of `best`.

    `squares` is the residual sum of squares of the fit.
    """
    by_users: dict[int, list[float]] = {}
    for users, rate in points:
        by_users.setdefault(users, []).append(rate / best)
    levels = [by_users[users] for users in sorted(by_users)]
    means, counts = [float(np.mean(rates)) for rates in levels], [len(rates) for rates in levels]
    freedom = len(points) - len(levels)
    if freedom >= REPEATS_FREEDOM_LEAST:
        variance = sum(float(((np.array(rates) - np.mean(rates)) ** 2).sum()) for rates in levels) / freedom
        return fall_p_value(means, counts, variance, freedom)
    freedom = len(points) - _PARAMETERS
    variance = squares / freedom
    p_value = fall_p_value(means, counts, variance, freedom)
    if chi_squared_above(freedom, squares / noise_ratio**2) > _NOISIER_P_VALUE:
        p_value = min(p_value, fall_p_value(means, counts, max(variance, noise_ratio**2)))
    return p_value


def _covariance(jacobian: np.ndarray, residuals: np.ndarray, scatter: float) -> np.ndarray | None:
    """Return the covariance (HC3) of the parameters; None when the levels do not determine all parameters.

    Columns are scaled to one length first, because β and γ differ by orders of magnitude.
    """
    lengths = np.sqrt((jacobian**2).sum(axis=0))
    if not lengths.all():
        return None
    scaled = jacobian / lengths
    if np.linalg.cond(scaled) > 1e8:
        return None
    if residuals @ residuals <= _ROUNDING * max(scatter, 1.0):
        residuals = np.zeros_like(residuals)
    inverse = np.linalg.inv(scaled.T @ scaled)
    leverages = np.einsum("ij,jk,ik->i", scaled, inverse, scaled)
    squares = (residuals / (1 - np.minimum(leverages, _LEVERAGE_MOST))) ** 2
    covariance: np.ndarray = inverse @ (scaled.T * squares) @ scaled @ inverse / np.outer(lengths, lengths)
    return covariance


def _estimate(value: float, covariance: np.ndarray | None, index: int, t: float, limit: float) -> UslEstimate:
    if covariance is None:
        return UslEstimate(value, None, None)
    half = t * math.sqrt(float(covariance[index, index]))
    return UslEstimate(value, max(0.0, value - half), min(limit, value + half))


def _peak(
    estimates: Sequence[UslEstimate], covariance: np.ndarray | None, t: float, points: Sequence[tuple[int, float]]
) -> UslEstimate | None:
    """Return the users of the greatest throughput.

    None when it or its interval is outside of the levels, or when the last level is not below it.
    """
    gamma, alpha, beta = (one.value for one in estimates)
    if covariance is None or not beta or alpha >= 1:
        return None
    peak = math.sqrt((1 - alpha) / beta)
    least, most = min(users for users, _ in points), max(users for users, _ in points)
    at_last = float(np.mean([rate for users, rate in points if users == most]))
    if not least <= peak <= most or at_last >= throughput(gamma, alpha, beta, peak):
        return None
    slope = np.array([0.0, -0.5 / (1 - alpha), -0.5 / beta])
    factor = math.exp(min(t * math.sqrt(float(slope @ covariance @ slope)), _LOG_MOST))
    if not least <= peak / factor <= peak * factor <= most:
        return None
    return UslEstimate(peak, peak / factor, peak * factor)
