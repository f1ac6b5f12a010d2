"""Decides whether a series is its own noise alone, or has another level in a part of it, whatever the shape.

The series is transformed to cosines (DCT-II), which are independent in noise that stays the same. Noise resembles the
value before (AR(1)), plus what samples scatter alone: its spectrum is known everywhere but for two numbers, which are
those that explain the series best. A long memory beside scatter explains any slow change, so it must explain it better.
Four likelihoods are compared with that of the noise alone:

- Its slow cosines are stronger, those of a line, and of waves with periods of more than a quarter of the series.
- One to three intervals have another level.
- There is one step, which chance explains less often: a series has far fewer steps than intervals.
- There is one wave, with a period of a fourteenth to a quarter of the series.

So noise that resembles itself for long explains slow variation, and its numbers need not be known.

Sources: P. Whittle, "Estimation and information in stationary time series", Arkiv för Matematik 2, 1953; U. K. Müller,
M. W. Watson, "Testing models of low-frequency variability", Econometrica 76(5), 2008; A. B. Olshen, E. S. Venkatraman,
R. Lucito, M. Wigler, "Circular binary segmentation", Biostatistics 5(4), 2004.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import NamedTuple

# The slow cosines: those of a line, a step, and waves with periods of more than a quarter of the series.
SLOW_COUNTS = (1, 2, 4, 8)
LEVELS_MOST = 3
_CORRELATIONS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.7, 0.78, 0.85)
# Noise forgets the past within this share of the series: with longer noise its mean is not known.
_FORGOTTEN_RATIO = 1 / 20
# The share of the variance that neighbours cannot have in common.
_WHITE_SHARES = (0.0, 0.25, 0.5, 0.75, 0.9)
# Smaller shares of the squares are rounding.
_ROUNDING = 1e-20
# A level has at least this share of the series.
_LEVEL_LEAST_RATIO = 0.04
# Other levels are looked for while the best one has so much of this ratio: chance seldom has more.
_PROMISING_RATIO = 18.0
# Before and after a step is at least this share of the series.
_STEP_LEAST_RATIO = 0.1
# A wave has so many half periods in the series, and is then fitted with so much more or less.
_HALF_PERIODS = range(8, 29)
_FRACTIONS = tuple(part / 10 for part in range(-9, 10))
_ITERATIONS = 3


class FoundLevel(NamedTuple):
    """Another level between two values, and twice the logarithm of the likelihood ratio of the levels until this."""

    begin: int
    end: int
    ratio: float


class FoundWave(NamedTuple):
    """The values of a wave, and twice the logarithm of its likelihood ratio."""

    values: list[float]
    ratio: float


class _Noise(NamedTuple):
    """A spectrum: its inverse by cosine, and the sum of its logarithms, with what a long memory costs."""

    inverses: list[float]
    log_sum: float


class _Waves(NamedTuple):
    """Sines and cosines of π · index · position ÷ count: by position, then by index."""

    sines: list[list[float]]
    cosines: list[list[float]]


class _Likely(NamedTuple):
    """Twice the logarithm of the likelihood of a noise, and its number."""

    likelihood: float
    number: int


class _Level(NamedTuple):
    """A level between two values, and the amplitudes that it leaves."""

    begin: int
    end: int
    rest: list[float]


class _Wave(NamedTuple):
    """A wave by the number of its half periods, and the amplitudes that are left."""

    half_periods: int
    rest: list[float]


@functools.lru_cache(maxsize=4)
def _cosines(count: int) -> list[list[float]]:
    quarter = [math.cos(math.pi * step / (2 * count)) for step in range(4 * count)]
    return [[quarter[index * (2 * at + 1) % (4 * count)] for at in range(count)] for index in range(1, count)]


@functools.lru_cache(maxsize=4)
def _waves(count: int) -> _Waves:
    turn = [math.pi * step / count for step in range(2 * count)]

    def table(of_turn: Sequence[float]) -> list[list[float]]:
        return [[of_turn[index * at % (2 * count)] for index in range(1, count)] for at in range(count + 1)]

    return _Waves(table(list(map(math.sin, turn))), table(list(map(math.cos, turn))))


@functools.lru_cache(maxsize=4)
def _halves(count: int) -> list[float]:
    """Return 1 ÷ (2 sin(π · index ÷ 2 count)): the cosines of an interval are so many times a difference of sines."""
    return [0.5 / math.sin(math.pi * index / (2 * count)) for index in range(1, count)]


@functools.lru_cache(maxsize=8)
def _noises(count: int) -> list[_Noise]:
    most = math.exp(-1 / (_FORGOTTEN_RATIO * count))
    noises = []
    for correlation in (*(one for one in _CORRELATIONS if one < most), most):
        for white in _WHITE_SHARES if correlation else (0.0,):
            shape = [
                (1 - white) * (1 - correlation**2)
                / (1 + correlation**2 - 2 * correlation * math.cos(math.pi * index / count)) + white
                for index in range(1, count)
            ]  # fmt: skip
            cost = correlation / (1 - correlation) if white else 0.0
            noises.append(_Noise([1 / one for one in shape], sum(map(math.log, shape)) + cost))
    return noises


@functools.lru_cache(maxsize=4)
def _sines(count: int) -> dict[int, list[float]]:
    """Return the amplitudes of sines, by the number of their half periods: of them only every other one is not 0."""

    def amplitude(half_periods: int, index: int) -> float:
        if (half_periods + index) % 2 == 0:
            return 0.0
        angles = (math.pi * (half_periods + index) / (2 * count), math.pi * (half_periods - index) / (2 * count))
        return sum(0.5 / math.sin(angle) for angle in angles)

    return {
        half_periods: [amplitude(half_periods, index) for index in range(1, count)]
        for half_periods in _HALF_PERIODS
        if half_periods < count
    }


@functools.lru_cache(maxsize=64)
def _norms(count: int, number: int) -> list[float]:
    """Return sums of cosines, by position, from which the square sum of any interval under this noise follows."""
    halves = _halves(count)
    weights = list(map(mul, map(mul, halves, halves), _noises(count)[number].inverses))
    half = [sum(map(mul, weights, cosine)) for cosine in _waves(count).cosines]
    return [*half, *half[-2::-1]]


class NoiseFit:
    """Fits noise to a series, alone and beside other levels."""

    def __init__(self, values: Sequence[float]) -> None:
        count = len(values)
        mean = sum(values) / count
        self._count, self._noises, self._values = count, _noises(count), [value - mean for value in values]
        self._amplitudes = [sum(map(mul, values, cosine)) for cosine in _cosines(count)]
        self._least = _ROUNDING * count * sum(map(mul, values, values))
        powers = list(map(mul, self._amplitudes, self._amplitudes))
        self._is_constant = sum(powers) <= self._least
        self._scaled = [list(map(mul, powers, noise.inverses)) for noise in self._noises]
        self._alone = _Likely(-math.inf, 0) if self._is_constant else self._best(self._amplitudes)

    def slow_ratio(self) -> float:
        """Return twice the logarithm of the likelihood ratio of a noise whose slow cosines are stronger.

        0 where the noise explains all; infinity for a series that only varies slowly.
        """
        if self._is_constant:
            return 0.0
        best, rest_count = -math.inf, self._count - 1
        for noise, scaled in zip(self._noises, self._scaled, strict=True):
            whole, sums = sum(scaled), list(accumulate(scaled[: SLOW_COUNTS[-1]]))
            for slow_count in SLOW_COUNTS:
                slow, fast_count = sums[slow_count - 1], rest_count - slow_count
                fast = whole - slow
                if fast <= self._least:
                    return math.inf
                if slow / slow_count > fast / fast_count:
                    own = -fast_count * math.log(fast / fast_count) - slow_count * math.log(slow / slow_count)
                    best = max(best, own - noise.log_sum)
        return max(0.0, best - self._alone.likelihood)

    def levels(self) -> list[FoundLevel]:
        """Return the levels that explain most, one after the other, each beside those before it."""
        levels: list[FoundLevel] = []
        amplitudes, number, count = self._amplitudes, self._alone.number, self._count
        least = max(2, round(_LEVEL_LEAST_RATIO * count))
        while not self._is_constant and len(levels) < LEVELS_MOST:
            for _ in range(_ITERATIONS):
                level = self._level(amplitudes, number, range(count - least + 1), least)
                best = self._best(level.rest)
                if best.number == number:
                    break
                number = best.number
            levels.append(FoundLevel(level.begin, level.end, self._ratio(best)))
            amplitudes = level.rest
            if not _PROMISING_RATIO < levels[-1].ratio < math.inf:
                break
        return levels

    def step_ratio(self) -> float:
        """Return twice the logarithm of the likelihood ratio of a step."""
        if self._is_constant:
            return 0.0
        ratio, number, least = 0.0, self._alone.number, max(2, round(_STEP_LEAST_RATIO * self._count))
        for _ in range(_ITERATIONS):
            best = self._best(self._level(self._amplitudes, number, range(1), least).rest)
            ratio = max(ratio, self._ratio(best))
            if best.number == number:
                break
            number = best.number
        return ratio

    def wave(self) -> FoundWave:
        """Return the likeliest wave."""
        ratio, number, half_periods = 0.0, self._alone.number, 0
        for _ in range(0 if self._is_constant else _ITERATIONS):
            wave = self._wave(number)
            best = self._best(wave.rest)
            if (new_ratio := self._ratio(best)) > ratio:
                ratio, half_periods = new_ratio, wave.half_periods
            if best.number == number:
                break
            number = best.number
        return FoundWave(self._values_of(half_periods) if ratio else [], ratio)

    def _values_of(self, half_periods: int) -> list[float]:
        """Return the wave of about so many half periods that explains most of the values, by least squares."""
        count, best, values = self._count, -1.0, [0.0] * self._count
        for fraction in _FRACTIONS:
            turns = [math.pi * (half_periods + fraction) * (at + 0.5) / count for at in range(count)]
            sines, cosines = list(map(math.sin, turns)), list(map(math.cos, turns))
            own, other, both = (sum(map(mul, *pair)) for pair in ((sines, sines), (cosines, cosines), (sines, cosines)))
            sine, cosine = (sum(map(mul, self._values, wave)) for wave in (sines, cosines))
            square = own * other - both * both
            first, second = (other * sine - both * cosine) / square, (own * cosine - both * sine) / square
            if (gain := first * sine + second * cosine) > best:
                best = gain
                values = [first * value + second * part for value, part in zip(sines, cosines, strict=True)]
        return values

    def _ratio(self, best: _Likely) -> float:
        return max(0.0, best.likelihood - self._alone.likelihood)

    def _best(self, amplitudes: Sequence[float]) -> _Likely:
        """Return the likeliest noise."""
        powers, rest_count = list(map(mul, amplitudes, amplitudes)), self._count - 1
        if sum(powers) <= self._least:
            return _Likely(math.inf, 0)
        return max(
            _Likely(-rest_count * math.log(sum(map(mul, powers, noise.inverses)) / rest_count) - noise.log_sum, number)
            for number, noise in enumerate(self._noises)
        )

    def _level(self, amplitudes: Sequence[float], number: int, begins: range, least: int) -> _Level:
        """Return the interval whose level explains most under a noise, and the amplitudes that are left."""
        count, halves, sines = self._count, _halves(self._count), _waves(self._count).sines
        weighted = list(map(mul, map(mul, amplitudes, halves), self._noises[number].inverses))
        sums, norms = [sum(map(mul, weighted, sine)) for sine in sines], _norms(count, number)
        best, best_at = -1.0, (0, count)
        for begin in begins:
            own, fixed = sums[begin], norms[0] - norms[2 * begin] / 2
            for end in range(begin + least, min(count, begin + count - least) + 1):
                top = sums[end] - own
                gain = top * top / (fixed - norms[2 * end] / 2 - norms[end - begin] + norms[begin + end])
                if gain > best:
                    best, best_at = gain, (begin, end)
        begin, end = best_at
        square = norms[0] - (norms[2 * begin] + norms[2 * end]) / 2 - norms[end - begin] + norms[begin + end]
        change = (sums[end] - sums[begin]) / square
        shape = [half * (last - first) for half, first, last in zip(halves, sines[begin], sines[end], strict=True)]
        return _Level(begin, end, [value - change * part for value, part in zip(amplitudes, shape, strict=True)])

    def _wave(self, number: int) -> _Wave:
        """Return the wave that explains most under a noise, and the amplitudes that are left.

        A cosine is one amplitude, which the sine does not have: each of the two is fitted alone.
        """
        amplitudes, inverses = self._amplitudes, self._noises[number].inverses
        weighted, best, fitted = list(map(mul, amplitudes, inverses)), -1.0, (0, 0.0)
        for half_periods, sine in _sines(self._count).items():
            top, square = sum(map(mul, weighted, sine)), sum(map(mul, map(mul, sine, sine), inverses))
            gain = amplitudes[half_periods - 1] * weighted[half_periods - 1] + top * top / square
            if gain > best:
                best, fitted = gain, (half_periods, top / square)
        half_periods, factor = fitted
        rest = [
            value - factor * part for value, part in zip(amplitudes, _sines(self._count)[half_periods], strict=True)
        ]
        rest[half_periods - 1] = 0.0
        return _Wave(half_periods, rest)
