"""Changes of values of which each run has one, such as the duration of a job, estimated over the repeats of all cells.

Values are compared by their logarithms. `change_over` fits a mean for each cell and one change for all (additive model,
least squares); what remains, also a change that differs between cells, is its error. On a machine that drifts, the runs
of a round resemble each other: with one change in all cells and three rounds or more, the mean of a round over all
cells counts as one value. `change_in` estimates the change of one cell, with the deviation that is given. Intervals and
p-values are Student's.

Source: D. C. Montgomery, "Design and Analysis of Experiments", 4.1 (randomised blocks with unequal numbers).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import NamedTuple

from harness.compare.comparison import BETTER, CANNOT_TELL, OK, REGRESSED
from harness.metrics.distributions import student_t_below, student_t_quantile
from harness.metrics.shift import CONFIDENCE, as_ratio
from harness.report.change_text import decimals_of, interval_text, signed_text

RUNS_LEAST = 2
# Of fewer rounds the scatter is hardly known.
_ROUNDS_LEAST = 3
# A change that scatters between cells by more than so many times the variance of repeats is not one change.
_UNEVEN_LEAST = 4.0
NO_VERDICT = "no verdict: one run"


class Block(NamedTuple):
    """The values of the runs of a cell, one of each run, all above 0."""

    baseline: Sequence[float]
    contender: Sequence[float]


class Scatter(NamedTuple):
    """The standard deviation of the logarithms of repeats, and its degrees of freedom."""

    deviation: float
    freedom: float


@dataclass(frozen=True)
class Judgement:
    """What is said of a change: the smallest one that matters (ratio), alpha, and how many tests share it."""

    threshold: float
    alpha: float
    test_count: int = 1
    more_is_better: bool = False


@dataclass(frozen=True)
class RepeatedChange:
    """The change of a value as a ratio, with its 95 % interval and its verdict.

    The values are medians. `ratio` is None when a side has none, the interval when there are too few repeats.
    """

    baseline: float | None
    contender: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: str = ""

    @property
    def cells(self) -> list[str]:
        """The change in %, its interval and its verdict, as cells of a table."""
        interval = interval_text(self.low, self.high, self.verdict, decimals_of(self.low, self.high))
        return [self.text, interval, self.verdict]

    @property
    def text(self) -> str:
        """The change in %, with its sign; empty when unknown, and for CANNOT TELL."""
        return signed_text(self.ratio, self.verdict, decimals_of(self.low, self.high))


def scatter_of(blocks: Sequence[Block]) -> Scatter | None:
    """Return the scatter of repeats within the cells and sides; None without repeats."""
    groups = [[math.log(value) for value in side] for block in blocks for side in block if side]
    freedom = sum(len(group) - 1 for group in groups)
    if freedom < 1:
        return None
    squares = sum((value - fmean(group)) ** 2 for group in groups for value in group) / freedom
    return Scatter(math.sqrt(squares), freedom)


def change_in(block: Block, scatter: Scatter | None, judgement: Judgement, least: int = RUNS_LEAST) -> RepeatedChange:
    """Return the change of one cell; with fewer runs a side than `least` it is a number without a verdict."""
    change = _unjudged(block.baseline, block.contender)
    if min(map(len, block)) < least or scatter is None or change.ratio is None:
        return change
    estimate = _mean_log(block.contender) - _mean_log(block.baseline)
    error = scatter.deviation * math.sqrt(sum(1 / len(side) for side in block))
    return replace(_judged(change, estimate, error, scatter.freedom, judgement), ratio=change.ratio)


def change_over(blocks: Sequence[Block], judgement: Judgement) -> RepeatedChange:
    """Return the one change of a value in all cells that both sides have; CANNOT TELL without degrees of freedom."""
    known = [block for block in blocks if all(block)]
    change = _unjudged(*([value for block in known for value in block[side]] for side in (0, 1)))
    if not known:
        return change
    weights = [1 / sum(1 / len(side) for side in block) for block in known]
    shifts = [_mean_log(block.contender) - _mean_log(block.baseline) for block in known]
    estimate = math.fsum(map(math.prod, zip(weights, shifts, strict=True))) / math.fsum(weights)
    within, count = scatter_of(known), sum(len(side) for block in known for side in block)
    squares = within.deviation**2 * within.freedom if within else 0.0
    uneven = sum(weight * (shift - estimate) ** 2 for weight, shift in zip(weights, shifts, strict=True))
    freedom = float(count - len(known) - 1)
    if freedom < 1:
        return replace(change, ratio=as_ratio(estimate))
    error = math.sqrt((squares + uneven) / freedom / math.fsum(weights))
    is_one = within is not None and within.deviation**2 * _UNEVEN_LEAST * (len(known) - 1) >= uneven
    if is_one and (rounds := _rounds(known)):
        of_rounds = scatter_of([rounds])
        assert of_rounds
        error, freedom = of_rounds.deviation * math.sqrt(sum(1 / len(side) for side in rounds)), of_rounds.freedom
    return _judged(change, estimate, error, freedom, judgement)


def _rounds(blocks: Sequence[Block]) -> Block | None:
    """Return the geometric mean over cells of each round; None where cells have few repeats, or not equally many."""
    counts = {len(side) for block in blocks for side in block}
    if len(blocks) < 2 or len(counts) > 1 or min(counts) < _ROUNDS_LEAST:
        return None
    sides = (zip(*(block[side] for block in blocks), strict=True) for side in (0, 1))
    return Block(*([math.exp(_mean_log(values)) for values in side] for side in sides))


def median_of(values: Iterable[float]) -> float | None:
    """Return the median of values; None without any."""
    known = list(values)
    return median(known) if known else None


def _mean_log(values: Sequence[float]) -> float:
    return fmean(map(math.log, values))


def _unjudged(baseline: Sequence[float], contender: Sequence[float]) -> RepeatedChange:
    """Return both medians and their change; the verdict says that there is one run, or that a side is unknown."""
    earlier, later = map(median_of, (baseline, contender))
    if earlier is None or later is None:
        return RepeatedChange(earlier, later)
    return RepeatedChange(earlier, later, ratio=later / earlier - 1, verdict=NO_VERDICT)


def _judged(
    change: RepeatedChange, estimate: float, error: float, freedom: float, judgement: Judgement
) -> RepeatedChange:
    """Return the change with its interval and its verdict, as `compare` decides it (docs/methodology.md)."""
    reach = student_t_quantile(freedom, (1 + CONFIDENCE) / 2) * error
    low, high = as_ratio(estimate - reach), as_ratio(estimate + reach)
    # Equal repeats have no scatter: how far they differ by chance is not known.
    p_value = 2 * student_t_below(freedom, -abs(estimate) / error) if error else 1.0
    is_sure = p_value * judgement.test_count < judgement.alpha
    # From here on, higher is worse.
    least, most = (-high, -low) if judgement.more_is_better else (low, high)
    verdict = CANNOT_TELL
    if is_sure and least > judgement.threshold:
        verdict = REGRESSED
    elif error and most <= judgement.threshold:
        verdict = BETTER if is_sure and most < -judgement.threshold else OK
    return replace(change, ratio=as_ratio(estimate), low=low, high=high, verdict=verdict)
