"""Downsampling: the greatest length of a stored series, and chunks of neighbouring points that become one point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

SERIES_POINTS_MOST = 600
_Point = TypeVar("_Point")


def chunk_size(point_count: int, most: int) -> int:
    """Return how many points a chunk has so that there are at most `most` chunks."""
    return max(1, math.ceil(point_count / most))


def chunks(points: Sequence[_Point], size: int) -> Iterator[Sequence[_Point]]:
    """Yield the points in chunks of `size`; the last chunk may be smaller."""
    return (points[start : start + size] for start in range(0, len(points), size))
