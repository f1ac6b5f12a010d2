"""How much single runs of one system differ: what one run against one cannot show, and what it is judged by.

The noise within two runs is not all of their difference: caches, compilers and the machine differ from start to start.
Known are earlier runs of the same load, or a trust test; else runs are assumed to scatter by 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import stdev

from harness.base import units
from harness.metrics.batch_means import Between
from harness.metrics.metric import Metric, compared_metrics
from harness.report.run_result import RunResult

# The standard deviation of the logarithms of single runs, where nothing is known.
ASSUMED_RATIO = 0.05
# Fewer earlier runs do not show how much runs scatter; of more, the latest count.
RUNS_LEAST, RUNS_MOST = 5, 20
# What is assumed counts like the standard deviation of so many values, and one.
FREEDOM = 60.0


@dataclass(frozen=True)
class RunScatter:
    """How much runs scatter: by label and metric where it is known, else `other`; `text` says whence that is known."""

    text: str
    other: Between
    known: Mapping[tuple[str, str], Between] = field(default_factory=dict)

    def of(self, label: str, metric: Metric) -> Between:
        """Return the scatter of a metric of a label, or of TOTAL."""
        return self.known.get((label, metric.id), self.other)


ASSUMED = RunScatter(
    f"runs are assumed to scatter by {units.percent_text(ASSUMED_RATIO, 0)} %",
    Between(ASSUMED_RATIO, FREEDOM, is_whole=False),
)


def scatter_of(runs: Sequence[RunResult]) -> RunScatter | None:
    """Return the scatter of earlier runs of the same load, the latest last; None for too few."""
    latest = runs[-RUNS_MOST:]
    if len(latest) < RUNS_LEAST:
        return None
    values: dict[tuple[str, str], list[float]] = {}
    for run in latest:
        for row in filter(None, (run.total, *run.labels)):
            for metric in compared_metrics():
                if not metric.is_share and (value := metric.of(row)):
                    values.setdefault((row.label, metric.id), []).append(math.log(value))
    known = {
        key: Between(stdev(logs), len(logs) - 1, is_whole=True)
        for key, logs in values.items()
        if len(logs) >= RUNS_LEAST
    }
    return RunScatter(f"their scatter is that of {len(latest)} earlier runs", ASSUMED.other, known) if known else None
