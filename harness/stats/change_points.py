"""Where a series of figures changed for good."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChangePoint:
    """A change between two stretches of a series: `index` is the place of the first value of the later one.

    `before` and `after` are the means of the stretches, in the unit of the values.
    """

    index: int
    before: float
    after: float
    p_value: float
