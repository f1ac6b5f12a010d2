"""What a test says of a change between two sides."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

# Of every interval; a test's own level is the thresholds' alpha.
CONFIDENCE = 0.95
# The share of cases in which the least change that is named would be seen.
POWER = 0.80
# Half a billion times as much, or as little. Of an interval that reaches further nothing is lost.
_DIFFERENCE_MOST = 20.0


@dataclass(frozen=True)
class Shift:
    """A change from the baseline to the contender, as a difference: of figures, or of their logarithms.

    `low` to `high` is its 95 % interval, `least` the least one that would have been seen with a power of 80 %; None
    where there are too few observations to say. `p_value` is that of no change.
    """

    estimate: float
    low: float | None
    high: float | None
    p_value: float
    least: float | None

    def as_ratio(self) -> Shift:
        """Return a difference of logarithms as (new - base) / base."""
        return replace(
            self,
            estimate=_ratio(self.estimate),
            low=None if self.low is None else _ratio(self.low),
            high=None if self.high is None else _ratio(self.high),
            least=None if self.least is None else _ratio(self.least),
        )


def _ratio(difference: float) -> float:
    return math.expm1(min(max(difference, -_DIFFERENCE_MOST), _DIFFERENCE_MOST))
