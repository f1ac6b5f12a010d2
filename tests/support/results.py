"""Results of runs for tests of what compares them, with everything that does not matter filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.judge.tail import TailAccount, TailCause
from harness.judge.verdict import VALID, Verdict
from harness.metrics.batches import BatchCounts, Batches
from harness.metrics.histogram import Histogram
from harness.report.run_result import RUN, LabelResult, RunResult
from tests.support.factories import record

_PERCENTILES = ("50", "75", "90", "95", "99")


def label_result(label: str = "Pay", average_ms: float | None = 100.0, **changes: Any) -> LabelResult:
    """Return the figures of 10,000 samples, all percentiles such as a log-normal would have about that average."""
    factors = {"50": 0.9, "75": 1.2, "90": 1.6, "95": 2.0, "99": 3.0}
    percentiles = {} if average_ms is None else {text: round(average_ms * by) for text, by in factors.items()}
    values: dict[str, Any] = {
        "label": label,
        "sample_count": 10_000,
        "error_count": 0,
        "error_ratio": 0.0,
        "average_ms": average_ms,
        "percentiles_ms": percentiles,
        "min_ms": 1,
        "max_ms": 5_000,
        "rate_per_s": 100.0,
        "received_bytes_per_s": 1_000.0,
    }
    return LabelResult(**{**values, **changes})


def run_result(name: str, *labels: LabelResult, total: LabelResult | None = None, **changes: Any) -> RunResult:
    """Return a valid run with these labels; its TOTAL has the figures of the first of them unless one is given."""
    values: dict[str, Any] = {
        "name": name,
        "kind": RUN,
        "run": record(name=name),
        "verdict": Verdict(VALID, (), (), ()),
        "window": None,
        "origin_s": None,
        "total": total,
        "labels": labels,
    }
    return RunResult(**{**values, **changes})


def tail_account(excess_ms: int = 400, label: str = "Pay", **parts: float) -> TailAccount:
    """Return the account of a tail: causes of these kinds with an interval of 10 ms to either side, and the rest."""
    causes = tuple(TailCause(kind, "shop.Till", ms, ms - 10, ms + 10) for kind, ms in parts.items())
    rest_ms = excess_ms - sum(parts.values())
    return TailAccount(label, 1_000, 100, 100 + excess_ms, 10, 10, causes, 0.0, rest_ms)


def batched(samples_ms: Sequence[Sequence[int]], length_s: float = 10.0, errors: Sequence[int] = ()) -> LabelResult:
    """Return the figures of the samples of each batch (ms, by their ends), of batches of `length_s`."""
    batches: Mapping[int, BatchCounts] = {
        index: BatchCounts(Histogram.of(values), sum(values), errors[index] if errors else 0)
        for index, values in enumerate(samples_ms)
    }
    histogram = Histogram.of(value for values in samples_ms for value in values)
    count, error_count = histogram.count, sum(errors)
    return LabelResult(
        label="TOTAL",
        sample_count=count,
        error_count=error_count,
        error_ratio=error_count / count,
        average_ms=histogram.mean_ms,
        percentiles_ms=dict(
            zip(_PERCENTILES, histogram.quantiles_ms([float(text) / 100 for text in _PERCENTILES]), strict=True)
        ),
        min_ms=histogram.min_ms,
        max_ms=histogram.max_ms,
        rate_per_s=count / (length_s * len(samples_ms)),
        received_bytes_per_s=None,
        batches=Batches.of(batches, len(samples_ms), length_s),
        histogram=histogram,
    )
