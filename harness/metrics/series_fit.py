"""Fits a multiple of a series to another one by least squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def residuals(values: Sequence[float], base: Sequence[float]) -> list[float]:
    """Return what a constant and a multiple of another series do not explain of a series."""
    return without(centred(values), centred(base))


def centred(values: Sequence[float]) -> list[float]:
    """Return the series minus its mean."""
    mean = sum(values) / len(values)
    return [value - mean for value in values]


def without(values: Sequence[float], base: Sequence[float]) -> list[float]:
    """Return what a multiple of another series does not explain of a series."""
    share = coefficient(values, base)
    return [value - share * one for value, one in zip(values, base, strict=True)]


def coefficient(values: Sequence[float], base: Sequence[float]) -> float:
    """Return by which factor another series fits a series best; 0 for one of zeros."""
    square = dot(base, base)
    return dot(values, base) / square if square else 0.0


def dot(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the scalar product of two series."""
    return sum(map(_times, first, second))


_times: Callable[[float, float], float] = float.__mul__
