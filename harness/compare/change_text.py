"""The change of a compared metric and its interval as texts; CANNOT TELL has no sign."""

from __future__ import annotations

from harness.compare.comparison import MetricComparison
from harness.report.change_text import decimals_of_metric, interval_text, signed_text


def change_of(metric: MetricComparison) -> str:
    """Return a change without its unit: +27.2; empty when unknown, and for CANNOT TELL."""
    return signed_text(metric.change_ratio, metric.word, _decimals(metric))


def interval_of(metric: MetricComparison) -> str:
    """Return an interval without its unit: +21.3 to +33.8, for CANNOT TELL within ±12.4; empty when unknown."""
    return interval_text(metric.low_ratio, metric.high_ratio, metric.word, _decimals(metric))


def with_unit(text: str, metric: MetricComparison) -> str:
    """Return the text of a change with its unit; empty for an empty one."""
    return f"{text} {metric.metric.change_unit}" if text else ""


def _decimals(metric: MetricComparison) -> int:
    return decimals_of_metric(metric.metric, metric.baseline, metric.low_ratio, metric.high_ratio)
