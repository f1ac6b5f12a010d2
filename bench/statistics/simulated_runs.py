"""Simulates runs with known changes: measures false alarms and power of comparisons.

Neighbouring requests are correlated like response times of a queue: M/M/1 by Lindley's recursion, started in its steady
state. Each run has its own random factor: noise that a single run does not show.

Source: D. V. Lindley, "The theory of queues with a single server", Proc. Cambridge Phil. Soc. 48(2), 1952.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.base.units import MS_PER_S
from harness.compare.comparison import CANNOT_TELL, OK, REGRESSED, Comparison
from harness.compare.decision import compare
from harness.metrics.batches import BATCH_COUNT, BATCH_PERCENTILES, BatchCounts, Batches
from harness.metrics.figures import TOTAL
from harness.metrics.histogram import Histogram
from harness.metrics.metric import Metric
from harness.plan.thresholds import Thresholds
from harness.report.run_result import JTL, LabelResult, RunResult

SAMPLE_COUNT = 5_000
# Mean service time: long compared with the clock resolution of 1 ms.
SERVICE_MS = 100.0


@dataclass(frozen=True)
class Rates:
    """Shares of repetitions: p-values of a metric below alpha, and verdicts."""

    repetitions: int
    below_alpha: dict[Metric, float]
    regressed: float
    ok: float
    cannot_tell: float


class Requests(NamedTuple):
    """The response times (whole ms) of successive requests, and when they end (ms since the start)."""

    elapsed_ms: NDArray[np.int64]
    end_ms: NDArray[np.float64]


def requests_of_queue(random: np.random.Generator, utilisation: float) -> Requests:
    """Return 5,000 successive requests of an M/M/1 queue."""
    between_ms = random.exponential(SERVICE_MS / utilisation, SAMPLE_COUNT)
    service_ms = random.exponential(SERVICE_MS, SAMPLE_COUNT)
    first_ms = random.exponential(SERVICE_MS / (1 - utilisation)) if random.random() < utilisation else 0.0
    # Waiting grows by service and shrinks by the time between arrivals, but not below 0: the walk minus its minimum.
    walk = np.concatenate(([0.0], np.cumsum(service_ms[:-1] - between_ms[1:])))
    waiting_ms = np.maximum(first_ms + walk, walk - np.minimum.accumulate(walk))
    elapsed_ms = waiting_ms + service_ms
    return Requests(np.rint(elapsed_ms).astype(np.int64), np.cumsum(between_ms) + elapsed_ms)


def per_request_p_value(base: NDArray[np.int64], new: NDArray[np.int64]) -> float:
    """Return the p-value of Mann and Whitney over single requests; it wrongly assumes that they are independent."""
    _, ranks, counts = np.unique(np.concatenate([base, new]), return_inverse=True, return_counts=True)
    midranks = np.cumsum(counts) - (counts - 1) / 2
    size, total = len(new), len(base) + len(new)
    distance = abs(midranks[ranks[len(base) :]].sum() - size * (total + 1) / 2)
    ties = float((counts.astype(float) ** 3 - counts).sum()) / (total * (total - 1))
    deviation = math.sqrt(size * len(base) / 12 * (total + 1 - ties))
    return math.erfc(distance / deviation / math.sqrt(2))


def queue_run(
    random: np.random.Generator, utilisation: float, noise_cv: float, name: str, with_batches: bool
) -> RunResult:
    """Return a run of the queue; all its times are multiplied by one log-normal factor with this CV."""
    requests = requests_of_queue(random, utilisation)
    elapsed_ms = np.rint(requests.elapsed_ms * _factor(random, noise_cv)).astype(np.int64)
    span_ms = float(np.ptp(requests.end_ms)) + 1
    length_s = span_ms / MS_PER_S / BATCH_COUNT
    batches = None
    if with_batches:
        numbers = ((requests.end_ms - requests.end_ms.min()) * BATCH_COUNT / span_ms).astype(np.int64)
        parts = [elapsed_ms[numbers == number] for number in range(BATCH_COUNT)]
        counts = {number: BatchCounts(_histogram(part), int(part.sum())) for number, part in enumerate(parts)}
        batches = Batches.of(counts, BATCH_COUNT, length_s)
    return _run(name, _histogram(elapsed_ms), length_s, batches)


def noisy_run(random: np.random.Generator, noise_cv: float, shift_ratio: float, name: str) -> RunResult:
    """Return a run with only an average: normal around 100 ms plus the shift.

    The deviation is that of the baseline on both sides, as in published tables of the power.
    """
    average_ms = SERVICE_MS * (1 + shift_ratio + random.normal(0.0, noise_cv))
    total = LabelResult(
        label=TOTAL,
        sample_count=SAMPLE_COUNT,
        error_count=0,
        error_ratio=0.0,
        average_ms=average_ms,
        percentiles_ms={},
        min_ms=None,
        max_ms=None,
        rate_per_s=1.0,
        received_bytes_per_s=None,
    )
    return RunResult(name, JTL, None, None, None, None, total, ())


def repeated(repetitions: int, one: Callable[[int], Comparison]) -> Rates:
    """Return the rates over comparisons; `one` makes the comparison with a number."""
    comparisons = [one(number) for number in range(repetitions)]
    alpha = Thresholds().alpha
    below: dict[Metric, int] = {}
    for comparison in comparisons:
        assert comparison.total
        for metric in comparison.total.metrics:
            p_value = metric.adjusted_p_value
            below[metric.metric] = below.get(metric.metric, 0) + (p_value is not None and p_value < alpha)
    verdicts = [comparison.verdict for comparison in comparisons]
    return Rates(
        repetitions=repetitions,
        below_alpha={metric: count / repetitions for metric, count in below.items()},
        regressed=verdicts.count(REGRESSED) / repetitions,
        ok=verdicts.count(OK) / repetitions,
        cannot_tell=verdicts.count(CANNOT_TELL) / repetitions,
    )


def per_request_rate(random: np.random.Generator, utilisation: float, repetitions: int) -> float:
    """Return the share of pairs of the same queue that a test over requests finds different."""
    alpha = Thresholds().alpha
    pairs = ([requests_of_queue(random, utilisation).elapsed_ms for _ in range(2)] for _ in range(repetitions))
    return sum(per_request_p_value(base, new) < alpha for base, new in pairs) / repetitions


def queue_rates(random: np.random.Generator, utilisation: float, noise_cv: float, runs: int, repetitions: int) -> Rates:
    """Return the rates without a change: groups of runs of the same queue (1: compared by batches)."""

    def one(_: int) -> Comparison:
        names = [f"{side}{number}" for side in "AB" for number in range(runs)]
        found = [queue_run(random, utilisation, noise_cv, name, with_batches=runs == 1) for name in names]
        return compare(found[:runs], found[runs:], Thresholds(), scatter=None)  # the noise within runs

    return repeated(repetitions, one)


def group_rates(random: np.random.Generator, noise_cv: float, shift_ratio: float, runs: int, repetitions: int) -> Rates:
    """Return the rates with a contender that is slower by this ratio, for groups of runs."""

    def one(_: int) -> Comparison:
        base = [noisy_run(random, noise_cv, 0.0, f"A{number}") for number in range(runs)]
        new = [noisy_run(random, noise_cv, shift_ratio, f"B{number}") for number in range(runs)]
        return compare(base, new, Thresholds())

    return repeated(repetitions, one)


def _factor(random: np.random.Generator, noise_cv: float) -> float:
    return math.exp(random.normal(0.0, math.sqrt(math.log1p(noise_cv**2)))) if noise_cv else 1.0


def _histogram(elapsed_ms: NDArray[np.int64]) -> Histogram:
    values, counts = np.unique(elapsed_ms, return_counts=True)
    return Histogram(dict(zip(values.tolist(), counts.tolist(), strict=True)))


def _run(name: str, histogram: Histogram, length_s: float, batches: Batches | None) -> RunResult:
    ratios = [float(text) / 100 for text in BATCH_PERCENTILES]
    total = LabelResult(
        label=TOTAL,
        sample_count=histogram.count,
        error_count=0,
        error_ratio=0.0,
        average_ms=histogram.mean_ms,
        percentiles_ms=dict(zip(BATCH_PERCENTILES, histogram.quantiles_ms(ratios), strict=True)),
        min_ms=histogram.min_ms,
        max_ms=histogram.max_ms,
        rate_per_s=histogram.count / (length_s * BATCH_COUNT),
        received_bytes_per_s=None,
        batches=batches,
        histogram=histogram,
    )
    return RunResult(name, JTL, None, None, None, None, total, ())
