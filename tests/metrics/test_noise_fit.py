"""The fit of noise to a series: against likelihoods by numpy, and what noise and other levels do to it."""

import math

import numpy
import pytest

from harness.metrics.noise_fit import NoiseFit
from tests.support.weekly import often


def noise(seed, count, memory=0.0, white=0.0):
    """Return AR(1) noise with a variance of 1, of which a share is white."""
    random = numpy.random.default_rng(seed)
    state, values = random.normal(), []
    for one in random.normal(size=count):
        state = memory * state + math.sqrt(1 - memory**2) * one
        values.append(math.sqrt(1 - white) * state + math.sqrt(white) * random.normal())
    return numpy.array(values)


def slow_ratios(seeds, count, memory, white=0.0):
    return sorted(NoiseFit(list(noise(seed, count, memory, white))).slow_ratio() for seed in range(seeds))


def residual_sum(values, begin, end):
    """Return the square sum that a level between two values leaves in white noise, by least squares."""
    shape = numpy.zeros(len(values))
    shape[begin:end] = 1
    shape -= shape.mean()
    centred = values - values.mean()
    return (centred**2).sum() - (centred @ shape) ** 2 / (shape @ shape)


def test_the_first_level_in_white_noise_is_the_one_of_least_squares():
    values = noise(2, 60) + numpy.where((numpy.arange(60) >= 21) & (numpy.arange(60) < 34), 6.0, 0.0)
    (level, *_) = NoiseFit(list(values)).levels()
    # At least 2 of 60 values are inside, and outside.
    sums = {
        (begin, end): residual_sum(values, begin, end)
        for begin in range(59)
        for end in range(begin + 2, 61)
        if end - begin <= 58
    }
    assert (level.begin, level.end) == min(sums, key=lambda ends: sums[ends]) == (21, 34)


def test_the_ratio_of_a_level_is_that_of_the_likelihoods_by_numpy():
    values = noise(4, 40) + numpy.where(numpy.arange(40) < 15, 8.0, 0.0)
    (level, *_) = NoiseFit(list(values)).levels()
    assert {level.begin, level.end} in ({0, 15}, {15, 40})
    cosines = numpy.cos(math.pi * numpy.arange(1, 40)[:, None] * (numpy.arange(40) + 0.5) / 40)
    correlations = [0, 0.15, 0.3, 0.45, math.exp(-20 / 40)]

    def twice_log_likelihood(series):
        powers, found = (cosines @ series) ** 2, []
        for correlation in correlations:
            for white in (0, 0.25, 0.5, 0.75, 0.9) if correlation else (0,):
                angles = numpy.cos(math.pi * numpy.arange(1, 40) / 40)
                spectrum = (1 - white) * (1 - correlation**2) / (1 + correlation**2 - 2 * correlation * angles) + white
                cost = correlation / (1 - correlation) if white else 0
                found.append(-39 * math.log((powers / spectrum).sum() / 39) - numpy.log(spectrum).sum() - cost)
        return max(found)

    left = values - numpy.where(numpy.arange(40) < 15, values[:15].mean() - values[15:].mean(), 0)
    expected = twice_log_likelihood(left) - twice_log_likelihood(values)
    assert level.ratio == pytest.approx(expected, rel=0.05)


@pytest.mark.real
@pytest.mark.parametrize(("memory", "white"), often(2, [(0.0, 0.0), (0.5, 0.0), (0.8, 0.0), (0.8, 0.5)]))
def test_noise_of_any_memory_has_seldom_slow_changes(memory, white):
    """Of 100 series at most three exceed the limit of 7."""
    assert sum(ratio > 7 for ratio in slow_ratios(100, 120, memory, white)) <= 3


@pytest.mark.parametrize("period", often(2, [0.3, 0.5, 1, 2]))
def test_slow_waves_are_found_in_noise(period):
    at = numpy.arange(120) / 120
    for seed in range(10):
        wave = 1.5 * numpy.sin(2 * math.pi * (at / period + seed / 10))
        assert NoiseFit(list(noise(seed, 120) + wave)).slow_ratio() > 7


@pytest.mark.real
def test_a_larger_step_is_clearer():
    step = numpy.where(numpy.arange(120) >= 70, 1.0, 0.0)
    fits = [NoiseFit(list(noise(1, 120, 0.3) + size * step)) for size in (1, 2, 4, 8)]
    assert [max(fit.slow_ratio() / 7, fit.levels()[0].ratio / 30) > 1 for fit in fits] == [True] * 4
    ratios = [fit.levels()[0].ratio for fit in fits[1:]]
    assert ratios == sorted(ratios)


@pytest.mark.counterpart
@pytest.mark.parametrize(("memory", "white"), [(0.0, 0.0), (0.5, 0.0), (0.8, 0.5)])
def test_noise_seldom_looks_like_a_step_or_a_wave(memory, white):
    """Of 100 series at most one exceeds the limits of 17 and 25."""
    fits = [NoiseFit(list(noise(seed, 120, memory, white))) for seed in range(100)]
    assert sum(fit.step_ratio() > 17 for fit in fits) <= 1
    assert sum(fit.wave().ratio > 25 for fit in fits) == 0


@pytest.mark.real
@pytest.mark.parametrize("at", often(1, [0.2, 0.6, 0.8]))
def test_a_step_is_found_that_is_no_clear_interval(at):
    """Chance has a greater ratio for the best of all intervals than for the best step: 30 and 17."""
    step = 1.8 * (numpy.arange(120) >= at * 120)
    fits = [NoiseFit(list(noise(seed, 120, 0.2) + step)) for seed in range(20)]
    assert sum(fit.step_ratio() > 17 for fit in fits) >= 17
    assert sum(fit.levels()[0].ratio > 30 for fit in fits) <= 10


def test_the_ratio_of_a_step_that_is_the_clearest_level_is_that_of_the_level():
    values = noise(4, 60) + numpy.where(numpy.arange(60) < 25, 8.0, 0.0)
    fit = NoiseFit(list(values))
    assert fit.step_ratio() == pytest.approx(fit.levels()[0].ratio)


@pytest.mark.parametrize("period", often(2, [5, 9, 13.4, 20]))
def test_a_short_wave_is_found_with_its_values(period):
    at = numpy.arange(120)
    for seed in range(5):
        wave = 1.2 * numpy.sin(2 * math.pi * (at / period + seed / 10))
        found = NoiseFit(list(noise(seed, 120, 0.3) + wave)).wave()
        if period < 120 / 14:
            assert found.ratio < 25
        else:
            assert found.ratio > 25
            assert numpy.corrcoef(found.values, wave)[0, 1] > 0.9


def test_three_bursts_are_three_levels():
    values = noise(3, 120)
    for begin in (20, 55, 95):
        values[begin : begin + 8] += 6
    levels = NoiseFit(list(values)).levels()
    assert sorted((level.begin, level.end) for level in levels) == [(20, 28), (55, 63), (95, 103)]
    assert levels[-1].ratio > 60


def test_a_constant_series_has_neither_and_a_slow_one_no_noise():
    constant = NoiseFit([1.0] * 60)
    assert (constant.slow_ratio(), constant.levels()) == (0.0, [])
    assert (constant.step_ratio(), constant.wave()) == (0.0, ([], 0.0))
    assert NoiseFit([math.cos(math.pi * (at + 0.5) / 60) for at in range(60)]).slow_ratio() == math.inf
    assert NoiseFit([1.0] * 30 + [2.0] * 30).levels()[0].ratio == math.inf
