"""The result of a statistical test of a change between two groups of runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

# The confidence of every interval; a test's own level is the thresholds' alpha.
CONFIDENCE = 0.95
# The power: the share of cases in which the smallest detectable change would be found.
POWER = 0.80
# A factor of half a billion. An interval that reaches further is cut without loss.
_DIFFERENCE_MOST = 20.0


@dataclass(frozen=True)
class Shift:
    """A change from the baseline to the contender, as a difference of metrics or of their logarithms.

    `low` to `high` is its 95 % interval; `least` is the smallest change that the test detects with a power of 80 %;
    both are None for too few observations. `p_value` is for the hypothesis of no change.
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
            estimate=as_ratio(self.estimate),
            low=None if self.low is None else as_ratio(self.low),
            high=None if self.high is None else as_ratio(self.high),
            least=None if self.least is None else as_ratio(self.least),
        )


def as_ratio(difference: float) -> float:
    """Return a difference of logarithms as a relative change."""
    return math.expm1(min(max(difference, -_DIFFERENCE_MOST), _DIFFERENCE_MOST))
