"""Draws the results of runs as real ones scatter: requests in batches, a factor of each run, errors, clock ticks.

A run has a factor that all of its labels share, and each label one of its own: both are the scatter between runs.
Within a run the requests of a label are log-normal, and batches of them correlate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.judge.verdict import VALID, Verdict
from harness.metrics.batches import BATCH_COUNT, BATCH_PERCENTILES, Batches
from harness.metrics.figures import TOTAL
from harness.metrics.histogram import Histogram
from harness.report.run_result import JTL, LabelResult, RunResult

_BATCH_S = 6.0
# The standard deviation of the logarithms of requests.
_REQUEST_SD = 0.5
# The share of the scatter between runs that all labels of a run have in common (variance).
_SHARED = 0.8
_TAIL_FREEDOM = 3


@dataclass(frozen=True)
class Kind:
    """How runs scatter: `between` is the standard deviation of the logarithms of a run's factor.

    `growth` is the factor of `between` from the smallest to the largest cell. With `rho` successive runs correlate.
    With `is_heavy` factors are Student's t with 3 degrees of freedom. `slow_start` is the share of runs that are 10 %
    slower, `outlier` that of runs that are 40 % slower. `base_ms` is the median response time.
    """

    name: str
    between: float = 0.02
    growth: float = 1.0
    rho: float = 0.0
    is_heavy: bool = False
    slow_start: float = 0.0
    outlier: float = 0.0
    base_ms: float = 100.0
    error_ratio: float = 0.0
    label_count: int = 6
    samples_equal: bool = False


KINDS = (
    Kind("equal cells", samples_equal=True),
    Kind("unequal cells", between=0.01),
    Kind("larger cells scatter more", between=0.01, growth=4.0),
    Kind("neighbours correlate by 0.6", rho=0.6),
    Kind("neighbours correlate by 0.8", rho=0.8),
    Kind("heavy tails", is_heavy=True),
    Kind("one slow start in ten", slow_start=0.1),
    Kind("outliers", outlier=0.03),
    Kind("ties at 1 to 3 ms", base_ms=2.0),
    Kind("few errors", error_ratio=0.002),
    Kind("30 labels", label_count=30),
    Kind("runs scatter by 5 %", between=0.05),
)


class RunFactors:
    """The logarithms of the factors of successive runs."""

    def __init__(self, random: np.random.Generator, kind: Kind) -> None:
        self._random, self._kind = random, kind
        self._last = float(random.standard_normal())

    def next(self, size: float = 0.0) -> float:
        """Return the factor of the next run; `size` of its cell is from 0 (the smallest) to 1."""
        kind, random = self._kind, self._random
        new = float(random.standard_t(_TAIL_FREEDOM)) if kind.is_heavy else float(random.standard_normal())
        if kind.is_heavy:
            new /= math.sqrt(_TAIL_FREEDOM / (_TAIL_FREEDOM - 2))
        self._last = kind.rho * self._last + math.sqrt(1 - kind.rho**2) * new
        factor = kind.between * kind.growth**size * self._last
        factor += math.log(1.1) * (random.random() < kind.slow_start)
        return float(factor + math.log(1.4) * (random.random() < kind.outlier))


def run_of(
    random: np.random.Generator, kind: Kind, name: str, factor: float, per_batch: int, changes: Sequence[float] = ()
) -> RunResult:
    """Return a run with `per_batch` samples of each label in each batch; `changes` are added to the labels' logarithms.

    `factor` is the logarithm of the run's factor.
    """
    labels = kind.label_count
    own = random.standard_normal(labels) * kind.between * math.sqrt(1 - _SHARED)
    means = np.log(kind.base_ms * (1 + np.arange(labels) / labels)) + factor * math.sqrt(_SHARED) + own
    means[: len(changes)] += changes
    # Batches correlate by half: neighbouring requests resemble each other.
    waves = random.standard_normal((labels, BATCH_COUNT + 1)) * 0.02
    waves = (waves[:, 1:] + waves[:, :-1]) / math.sqrt(2)
    noise = random.standard_normal((labels, BATCH_COUNT, per_batch)) * _REQUEST_SD
    elapsed_ms = np.maximum(np.rint(np.exp(means[:, None, None] + waves[:, :, None] + noise)), 1).astype(np.int64)
    errors = random.binomial(per_batch, kind.error_ratio, (labels, BATCH_COUNT))
    # A closed loop: the slower the responses, the longer the same number of them takes.
    length_s = _BATCH_S * float(elapsed_ms.mean()) / kind.base_ms
    drawn = np.maximum(np.rint(random.normal(per_batch, 0.5 * math.sqrt(per_batch), (labels, BATCH_COUNT))), 1)
    drawn = drawn.astype(np.int64)
    found = [
        _label(f"label {number:02}", elapsed_ms[number], errors[number], drawn[number], length_s)
        for number in range(labels)
    ]
    whole = elapsed_ms.transpose(1, 0, 2).reshape(BATCH_COUNT, -1)
    total = _label(TOTAL, whole, errors.sum(axis=0), drawn.sum(axis=0), length_s)
    return RunResult(name, JTL, None, Verdict(VALID, (), (), ()), None, None, total, tuple(found))


def _label(
    label: str,
    elapsed_ms: NDArray[np.int64],
    errors: NDArray[np.int64],
    counts_drawn: NDArray[np.int64],
    length_s: float,
) -> LabelResult:
    """Return the metrics of a label whose samples are given by batch; `counts_drawn` are the samples of each batch."""
    values, counts = np.unique(elapsed_ms, return_counts=True)
    histogram = Histogram(dict(zip(values.tolist(), counts.tolist(), strict=True)))
    lines = histogram.quantiles_ms([float(text) / 100 for text in BATCH_PERCENTILES])
    count, error_count = histogram.count, int(errors.sum())
    batches = Batches(
        length_s=length_s,
        sample_count=tuple(counts_drawn.tolist()),
        error_count=tuple(errors.tolist()),
        average_ms=tuple(elapsed_ms.mean(axis=1).tolist()),
        percentiles_ms={},
        slower_count={
            text: tuple((elapsed_ms > line).sum(axis=1).tolist())
            for text, line in zip(BATCH_PERCENTILES, lines, strict=True)
        },
    )
    average_ms = histogram.mean_ms
    rate_per_s = float(counts_drawn.sum()) / (length_s * BATCH_COUNT)
    return LabelResult(
        label=label,
        sample_count=count,
        error_count=error_count,
        error_ratio=error_count / count,
        average_ms=average_ms,
        percentiles_ms=dict(zip(BATCH_PERCENTILES, lines, strict=True)),
        min_ms=int(values[0]),
        max_ms=int(values[-1]),
        rate_per_s=rate_per_s,
        received_bytes_per_s=None,
        batches=batches,
        histogram=histogram,
    )
