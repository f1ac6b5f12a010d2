"""The fit of levels, against least squares on the whitened series by numpy."""

import math

import numpy
import pytest

from harness.metrics.change_fit import NO_LEVEL, LevelFit


def whitened(series, correlation):
    """Return the series as Prais and Winsten whiten it."""
    series = numpy.asarray(series, dtype=float)
    return numpy.concatenate([[math.sqrt(1 - correlation**2) * series[0]], series[1:] - correlation * series[:-1]])


def least_squares(logs, function, correlation):
    """Return slope and |t| of a candidate."""
    regressors = numpy.column_stack([whitened(numpy.ones(len(logs)), correlation), whitened(function, correlation)])
    wanted = whitened(logs, correlation)
    coefficients, rest, *_ = numpy.linalg.lstsq(regressors, wanted, rcond=None)
    variance = rest[0] / (len(logs) - 2) * numpy.linalg.inv(regressors.T @ regressors)[1, 1]
    return coefficients[1], abs(coefficients[1]) / math.sqrt(variance)


def indicator(begin, end, count):
    return [1.0 if begin <= index < end else 0.0 for index in range(count)]


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.95])
def test_the_best_step_is_the_one_of_least_squares_on_whitened_series(correlation):
    rng = numpy.random.default_rng(5)
    logs = 5 + rng.normal(0, 0.05, 60) + 0.2 * numpy.asarray(indicator(23, 60, 60))
    # A step leaves at least a twentieth, 3 of 60 values, on both sides.
    fits = {begin: least_squares(logs, indicator(begin, 60, 60), correlation) for begin in range(3, 58)}
    best = LevelFit(list(logs)).best_step(correlation)
    assert (best.begin, best.end) == (max(fits, key=lambda begin: fits[begin][1]), 60)
    assert (best.slope, best.t) == pytest.approx(fits[best.begin], rel=1e-6)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.95])
def test_the_best_interval_is_the_one_of_least_squares_on_whitened_series(correlation):
    rng = numpy.random.default_rng(6)
    logs = 5 + rng.normal(0, 0.05, 40) + 0.3 * numpy.asarray(indicator(13, 22, 40))
    # With 40 values all pairs of ends are tried: at least 4 values long and 4 from both ends, at most 28 long.
    fits = {
        (begin, end): least_squares(logs, indicator(begin, end, 40), correlation)
        for begin in range(4, 33)
        for end in range(begin + 4, min(begin + 28, 36) + 1)
    }
    best = LevelFit(list(logs)).best_interval(correlation)
    assert (best.begin, best.end) == max(fits, key=lambda ends: fits[ends][1])
    assert (best.slope, best.t) == pytest.approx(fits[best.begin, best.end], rel=1e-6)


def test_the_ends_of_a_long_interval_are_found_to_the_value():
    rng = numpy.random.default_rng(7)
    logs = 5 + rng.normal(0, 0.01, 300) + numpy.asarray(indicator(101, 152, 300))
    best = LevelFit(list(logs)).best_interval(0.3)
    assert (best.begin, best.end) == (101, 152)


def test_a_series_without_noise_fits_exactly_and_a_constant_one_nothing():
    step = LevelFit([5.0] * 40 + [5.5] * 60).best_step(0.3)
    assert (step.begin, step.slope, step.t) == (40, pytest.approx(0.5), math.inf)
    constant = LevelFit([5.0] * 100)
    assert (constant.best_step(0.3), constant.best_interval(0.3)) == (NO_LEVEL, NO_LEVEL)
