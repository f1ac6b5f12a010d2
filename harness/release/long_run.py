"""Describes the long run of a release: response times and memory from its beginning to its end."""

from __future__ import annotations

from harness.base import units
from harness.metrics.figures import LOAD
from harness.metrics.growth import GROWS
from harness.metrics.metric import AVERAGE, ERRORS, THROUGHPUT, metric_of
from harness.report.growth import growth_text
from harness.report.setup import load_text
from harness.report.summary import RunSummary
from harness.report.tables import cell, table
from harness.report.verdict import state_line
from harness.run.telemetry import NOT_SYSTEM

_THIRD = 3
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
        texts = [f"{metric.words} {metric.text(value)} {metric.unit}" for metric, value in values if value is not None]
        lines.append(("in the measurement window", ", ".join(texts)))
    if summary.thirds:
        lines.append(("course", summary.thirds.text))
    if summary.observed.growths:
        growing = [growth_text(growth) for growth in summary.observed.growths if growth.verdict == GROWS]
        lines.append(("growth", "; ".join(growing) or "no resource grows beyond chance"))
    return lines


def memory_table(summary: RunSummary) -> str:
    """Return the memory of each process in the first and the last third of the run; empty when it is unknown.

    Sizes are means of resident memory and, of JVMs whose heap was recorded, of the heap in use.
    """
    series: list[tuple[str, list[float]]] = []
    for process in summary.observed.usage_series:
        if process.process not in NOT_SYSTEM and any(process.rss_bytes):
            series.append((f"{process.process}, resident memory", [float(size) for size in process.rss_bytes]))
    for heap in summary.observed.heap_series:
        series.append((f"{heap.process}, heap in use", [float(size) for size in heap.used_bytes]))
    rows = [_row(name, sizes) for name, sizes in series if len(sizes) >= _THIRD]
    heads = ["memory MB", "first third", "last third", "delta %", "largest"]
    return table(heads, rows) if rows else ""


def _row(name: str, sizes: list[float]) -> list[str]:
    count = len(sizes) // _THIRD
    first, last = sum(sizes[:count]) / count, sum(sizes[-count:]) / count
    change = units.signed_percent((last - first) / first) if first else ""
    return [cell(name), units.mb_text(first), units.mb_text(last), change, units.mb_text(max(sizes))]
