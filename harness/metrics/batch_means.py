"""Estimates the standard error of a single run's metrics from the batches of its window.

A metric is computed from all samples; its error comes from the variation of the batches. Each batch has a residual: how
far it alone moves the metric (for an average: the sum of its samples minus as many times the average). So batches are
weighted by their samples, and no metric of a single batch is needed, which would be biased for a percentile. The
residuals of a percentile are those of the share of slower samples; its error is read from the distribution.

Correlated batches count as fewer: n · (1 - r) / (1 + r), where r is the lag-1 autocorrelation, as in an autoregressive
series. An r estimated from n values is about 1 / n too low; 1 / n is added.

Sources: S. Asmussen, P. W. Glynn, "Stochastic Simulation", 2007, III.5 and IV.5 (sectioning, ratios, quantiles by
their distribution function); G. V. Bayley, J. M. Hammersley, "The effective number of independent observations in an
autocorrelated time series", J. R. Statist. Soc. Suppl. 8(2), 1946; F. H. C. Marriott, J. A. Pope, "Bias in the
estimation of autocorrelations", Biometrika 41, 1954; B. L. Welch, "The generalization of Student's problem", Biometrika
34, 1947; A. Agresti, B. Caffo, "Simple and effective confidence intervals for proportions", Am. Statist. 54(4), 2000.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from harness.metrics.batches import Batches
from harness.metrics.distributions import student_t_below, student_t_quantile
from harness.metrics.histogram import Histogram
from harness.metrics.metric import AVERAGE, ERRORS, THROUGHPUT, Beside, Metric
from harness.metrics.shift import CONFIDENCE, POWER, Shift

BATCHES_LEAST = 10
# The slow samples that make a percentile must not all come out of a few bad moments: else a p99 of a queue at 80 %
# "differs" from itself in one case of seven.
SLOW_BATCHES_LEAST = 5.0
_AUTOCORRELATION_MOST = 0.9
_EFFECTIVE_LEAST = 2.0


@dataclass(frozen=True)
class Estimate:
    """A figure of one run, its standard error in the same unit, the degrees of freedom of that, and its batches.

    `correlation` is the lag-1 autocorrelation of the batches, without corrections: several runs have a better mean.
    """

    value: float
    error: float
    freedom: float
    batch_count: int
    correlation: float = field(default=0.0, compare=False)


def estimate(batches: Batches | None, histogram: Histogram | None, metric: Metric) -> Estimate | str:
    """Return the estimate of a metric: ms, 1/s or a ratio; or, where there is none, the reason.

    `batches` are those of the window, `histogram` the response times; None where a source does not have them.
    """
    if batches is None and histogram is None:
        return "a report has only totals, not the variation within the run"
    if batches is None:
        return "the run has no batches: its window is too short, contains too few samples, or is the whole run"
    if sum(count > 0 for count in batches.sample_count) < BATCHES_LEAST:
        return f"fewer than {BATCHES_LEAST} of its batches contain samples"
    if metric.beside:
        return _beside(batches, metric)
    if metric == AVERAGE:
        return average(batches)
    if metric == THROUGHPUT:
        return mean([count / batches.length_s for count in batches.sample_count])
    if metric == ERRORS:
        return _errors(batches)
    return _percentile(batches, histogram, metric)


def slower_share(batches: Batches, percentile: str) -> Estimate | None:
    """Return the share (0-1) of samples slower than a percentile; None where the batches do not know it."""
    slower = batches.slower_count.get(percentile)
    if slower is None or not any(slower) or sum(count > 0 for count in batches.sample_count) < BATCHES_LEAST:
        return None
    return _share(batches, slower)


def change(baseline: Estimate, contender: Estimate) -> Shift:
    """Return the change of a figure by Welch's test, as a difference."""
    return _welch(contender.value - baseline.value, baseline, contender)


class Between(NamedTuple):
    """How much runs scatter: standard deviation of logarithms, its degrees of freedom, and with the noise within?"""

    deviation: float
    freedom: float
    is_whole: bool


def log_change(baseline: Estimate, contender: Estimate, between: Between | None = None) -> Shift:
    """Return the change of a figure above 0 by Welch's test, as a difference of logarithms.

    `between` is the scatter of runs, which is added to the noise within them, unless it contains that.
    """
    sides = [replace(side, error=side.error / side.value) for side in (baseline, contender)]
    if between:
        own = math.sqrt(2) * between.deviation
        runs = Estimate(0.0, own, between.freedom, 0)
        if not between.is_whole:
            sides.append(runs)
        elif own**2 > sum(side.error**2 for side in sides):
            sides = [runs]
    return _welch(math.log(contender.value / baseline.value), *sides)


def effective_count(count: int, correlation: float) -> float:
    """Return as how many independent batches correlated ones count."""
    limited = min(max(correlation, 0.0), _AUTOCORRELATION_MOST)
    return max(count * (1 - limited) / (1 + limited), _EFFECTIVE_LEAST)


def average(batches: Batches) -> Estimate:
    """Return the estimate of the average, ms."""
    pairs = [(n, mean) for n, mean in zip(batches.sample_count, batches.average_ms, strict=True) if mean is not None]
    count = sum(n for n, _ in pairs)
    average_ms = sum(n * mean for n, mean in pairs) / count
    per_batch = count / len(pairs)
    return _estimate(average_ms, [n * (mean - average_ms) / per_batch for n, mean in pairs])


def mean(values: Sequence[float]) -> Estimate:
    """Return the estimate of the mean of values of successive batches of equal length, in their unit."""
    average_value = sum(values) / len(values)
    return _estimate(average_value, [value - average_value for value in values])


def _beside(batches: Batches, metric: Metric) -> Estimate | str:
    """Return the estimate of what is known beside response times."""
    known = batches.beside.get(metric.key)
    if known is None:
        return "its batches do not count it"
    if metric.beside is Beside.RATE:
        return mean([value / batches.length_s for value in known.sums])
    pairs = [(n, value) for n, value in zip(known.counts, known.sums, strict=True) if n]
    if len(pairs) < BATCHES_LEAST:
        return f"fewer than {BATCHES_LEAST} of its batches contain it"
    count = sum(n for n, _ in pairs)
    value, per_batch = sum(part for _, part in pairs) / count, count / len(pairs)
    return _estimate(value, [(part - value * n) / per_batch for n, part in pairs])


def _errors(batches: Batches) -> Estimate:
    """Return the error ratio; its error is at least that of independent samples, two more and one more failed."""
    count, error_count = sum(batches.sample_count), sum(batches.error_count)
    found = _share(batches, batches.error_count)
    ratio = (error_count + 1) / (count + 2)
    return replace(found, error=max(found.error, math.sqrt(ratio * (1 - ratio) / (count + 2))))


def _percentile(batches: Batches, histogram: Histogram | None, metric: Metric) -> Estimate | str:
    slower = batches.slower_count.get(metric.id)
    if slower is None or histogram is None:
        return "its batches do not count the slower samples"
    if not any(slower):
        return "no sample is slower than this percentile"
    if sum(slower) ** 2 / sum(count**2 for count in slower) < SLOW_BATCHES_LEAST:
        return "a few slow moments of the run determine it"
    share = _share(batches, slower)
    ratio = metric.ratio
    low_ms, value_ms, high_ms = histogram.quantiles_ms(
        [max(0.0, ratio - share.error), ratio, min(1.0, ratio + share.error)]
    )
    return replace(share, value=value_ms, error=max(value_ms - low_ms, high_ms - value_ms))


def _share(batches: Batches, counts: Sequence[int]) -> Estimate:
    """Return the share of samples that `counts` count in each batch."""
    pairs = [(n, part) for n, part in zip(batches.sample_count, counts, strict=True) if n]
    count = sum(n for n, _ in pairs)
    share, per_batch = sum(part for _, part in pairs) / count, count / len(pairs)
    return _estimate(share, [(part - share * n) / per_batch for n, part in pairs])


def _estimate(value: float, residuals: Sequence[float]) -> Estimate:
    """Return the value with the standard error that residuals about it give."""
    count = len(residuals)
    square_sum = sum(residual**2 for residual in residuals)
    if square_sum == 0:
        return Estimate(value, 0.0, count - 1, count)
    neighbours = sum(residuals[index] * residuals[index + 1] for index in range(count - 1))
    correlation = neighbours / square_sum
    effective = effective_count(count, correlation + 1 / count)
    return Estimate(value, math.sqrt(square_sum / (count - 1) / effective), effective - 1, count, correlation)


def _welch(difference: float, *parts: Estimate) -> Shift:
    """Return the result of Welch's t-test for a difference, from the errors and degrees of freedom of its parts."""
    squares = [part.error**2 for part in parts]
    error = math.sqrt(sum(squares))
    if error == 0:
        return Shift(difference, difference, difference, 0.0 if difference else 1.0, 0.0)
    shares = (square**2 / part.freedom for square, part in zip(squares, parts, strict=True))
    freedom = sum(squares) ** 2 / sum(shares)
    reach, power = (student_t_quantile(freedom, p) for p in ((1 + CONFIDENCE) / 2, POWER))
    p_value = 2 * student_t_below(freedom, -abs(difference) / error)
    return Shift(difference, difference - reach * error, difference + reach * error, p_value, (reach + power) * error)
