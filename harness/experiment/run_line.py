"""Renders a run as one line of the terminal."""

from __future__ import annotations

from harness.compare.result import RunResult
from harness.metrics.metric import Table, columns_of_runs

_METRICS = columns_of_runs(Table.BRIEF)


def run_line(result: RunResult) -> str:
    """Return a run's verdict and main values on one line."""
    verdict, total = result.verdict, result.total
    parts = [] if verdict is None else [": ".join([verdict.state, *verdict.reasons[:1]])]
    if total:
        parts += [
            f"{metric.short_title} {metric.text(metric.of(total))} {metric.unit}"
            if metric.short_title != metric.unit
            else f"{metric.text(metric.of(total))} {metric.unit}"
            for metric in _METRICS
        ]
    if verdict and verdict.goals_missed:
        parts.append("goal missed")
    return f"{result.name}: {', '.join(parts)}"
