"""Describes the long run of a release: its response times, and how they differ at its end."""

from __future__ import annotations

from harness.metrics.figures import LOAD
from harness.metrics.growth import GROWS
from harness.metrics.metric import AVERAGE, ERRORS, THROUGHPUT, metric_of
from harness.report.growth import growth_text
from harness.report.setup import load_text
from harness.report.summary import RunSummary
from harness.report.verdict import state_line

_METRICS = (THROUGHPUT, AVERAGE, metric_of("p95"), ERRORS)


def long_lines(summary: RunSummary) -> list[tuple[str, str]]:
    """Return the run as (name, value) pairs: load, verdict, metrics, how its last third differs from its first, and
    what grows.
    """
    lines = [("run", summary.source)]
    if summary.run:
        lines.append(("load", load_text(summary.run.load)))
    lines.append(("verdict", state_line(summary.verdict)))
    load = summary.group(LOAD)
    if load:
        values = [(metric, metric.of(load.total)) for metric in _METRICS]
        texts = [f"{metric.phrase} {metric.text(value)} {metric.unit}" for metric, value in values if value is not None]
        lines.append(("in the measurement window", ", ".join(texts)))
    if summary.thirds:
        lines.append(("change over the run", summary.thirds.text))
    if summary.observed.growths:
        growing = [growth_text(growth) for growth in summary.observed.growths if growth.verdict == GROWS]
        lines.append(("growth", "; ".join(growing) or "no resource grows beyond chance"))
    return lines
