"""Measures which changes of an average can be found at all: by a test that knows the noise, and not when or how.

The average response time in sixtieths of many simulated runs, as logarithms, is transformed to cosines. The noise of
the load without its change, and with it all the time, gives their variances, and the limits that chance exceeds in one
of 100 runs: of the best step, the best interval and the slow cosines together. A change is found where all these loads
exclude it. A test that has to estimate the noise from one run finds less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache

import numpy

from bench.statistics.load_shapes import Case
from bench.statistics.simulated_load import Array, Load, Random, Rows

_CELLS, _EDGE_S, _LEAST_SHARE = 60, 2.0, 0.05
_LEVEL_LEAST = 2
_SLOW_COUNTS = (1, 2, 4, 8)
# Three kinds of change share 1 %.
_LIMIT_RATIO = 1 - 0.01 / 3
_NEIGHBOURS = 5


def found_ratio(case: Case, unchanged: Load, random: Random, count: int, length_s: float) -> float:
    """Return the share of so many runs in which the change of a load is found."""
    amplitudes = _amplitudes(case, random, count, length_s)
    excluded = numpy.ones(count, dtype=bool)
    for load in filter(None, (unchanged, case.became)):
        excluded &= _Noise(Case(load), random, count, length_s).excludes(amplitudes)
    return float(excluded.mean())


class _Noise:
    """The noise of a load: the deviations of its cosines, and what chance exceeds seldom."""

    def __init__(self, case: Case, random: Random, count: int, length_s: float) -> None:
        amplitudes = _amplitudes(case, random, 2 * count, length_s)
        padded = numpy.pad((amplitudes[:count] ** 2).mean(axis=0), _NEIGHBOURS // 2, mode="edge")
        self._deviations = numpy.sqrt(numpy.convolve(padded, numpy.ones(_NEIGHBOURS) / _NEIGHBOURS, "valid"))
        self._limits = [numpy.quantile(values, _LIMIT_RATIO) for values in self._statistics(amplitudes[count:])]

    def excludes(self, amplitudes: Array) -> Array:
        """Return, by run, whether it excludes that a series is noise alone."""
        pairs = zip(self._statistics(amplitudes), self._limits, strict=True)
        excluded: Array = numpy.any([values > limit for values, limit in pairs], axis=0)
        return excluded

    def _statistics(self, amplitudes: Array) -> Iterator[Array]:
        """Yield, by run, how clear the best step and the best interval are, and how strong the slow cosines."""
        whitened = amplitudes / self._deviations
        for shapes in _shapes():
            own = shapes / self._deviations
            yield ((whitened @ own.T) ** 2 / (own**2).sum(axis=1)).max(axis=1)
        sums = numpy.cumsum(whitened**2, axis=1)
        yield numpy.max([(sums[:, count - 1] - count) / math.sqrt(2 * count) for count in _SLOW_COUNTS], axis=0)


def _amplitudes(case: Case, random: Random, count: int, length_s: float) -> Array:
    """Return the cosines of so many simulated runs, in rows."""
    runs = case.load.runs(random, count, length_s)
    return numpy.array([_logs(case.change(rows, random, length_s), length_s) for rows, _ in runs]) @ _cosines().T


def _logs(rows: Rows, length_s: float) -> Array:
    """Return the logarithms of the averages in cells of equal length."""
    edges = numpy.linspace(_EDGE_S, length_s - _EDGE_S, _CELLS + 1)
    cell = numpy.searchsorted(edges, rows.end_s, side="right") - 1
    inside = (cell >= 0) & (cell < _CELLS)
    took_s = (rows.end_s - rows.start_s)[inside]
    counts = numpy.bincount(cell[inside], minlength=_CELLS)
    sums = numpy.bincount(cell[inside], took_s, minlength=_CELLS)
    usual = took_s.mean()
    averages = numpy.where(counts > 0, sums / numpy.maximum(counts, 1), usual)
    logs: Array = numpy.log(numpy.maximum(averages, _LEAST_SHARE * usual))
    return logs


@cache
def _cosines() -> Array:
    """Return the cosines but for the constant one, in rows."""
    index, at = numpy.arange(1, _CELLS)[:, None], numpy.arange(_CELLS)[None, :]
    cosines: Array = numpy.cos(math.pi * index * (at + 0.5) / _CELLS)
    return cosines


@cache
def _shapes() -> Sequence[Array]:
    """Return the cosines of all steps, and of all intervals."""
    at = numpy.arange(_CELLS)
    steps = [at >= begin for begin in range(_LEVEL_LEAST, _CELLS - _LEVEL_LEAST + 1)]
    intervals = [
        (at >= begin) & (at < end)
        for begin in range(_CELLS)
        for end in range(begin + _LEVEL_LEAST, _CELLS + 1)
        if end - begin <= _CELLS - _LEVEL_LEAST
    ]
    return [numpy.array(shapes, dtype=float) @ _cosines().T for shapes in (steps, intervals)]
