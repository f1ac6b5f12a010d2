"""The fit of steps, lines and decays, against least squares on the whitened series by numpy."""

import math

import numpy
import pytest

from harness.metrics.change_fit import BestFit, Fit, candidates


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


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.95])
@pytest.mark.parametrize("count", [20, 75, 300])
def test_the_best_candidate_is_the_one_of_least_squares_on_whitened_series(count, correlation):
    rng = numpy.random.default_rng(count)
    functions = candidates(count)
    for planted in (None, 3, 17, 18):
        logs = 5 + rng.normal(0, 0.05, count)
        if planted is not None:
            logs += 0.3 * numpy.asarray(functions[planted].values)
        fits = [least_squares(logs, function.values, correlation) for function in functions]
        best = Fit(list(logs), functions).best(correlation)
        assert best.index == max(range(len(fits)), key=lambda index: fits[index][1])
        assert (best.slope, best.t) == pytest.approx(fits[best.index], rel=1e-6)


def test_a_series_without_noise_fits_exactly_and_a_constant_one_nothing():
    functions = candidates(100)
    exact = Fit([5 + 0.3 * value for value in functions[7].values], functions).best(0.3)
    assert (exact.index, exact.slope, exact.t) == (7, pytest.approx(0.3), math.inf)
    assert Fit([5.0] * 100, functions).best(0.3) == BestFit(0, 0.0, 0.0)
