"""Reads what is known of the scatter of a plan's single runs: earlier runs of the load, or its newest trust test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from harness.compare.run_scatter import ASSUMED, FREEDOM, RunScatter
from harness.history.earlier_runs import LOOKED_AT_MOST, earlier_scatter
from harness.history.files import entries_of
from harness.kinds.trust.known import known
from harness.metrics.batch_means import Between
from harness.metrics.figures import TOTAL
from harness.metrics.metric import compared_metrics
from harness.report.run_result import RunResult


def single_scatter(reports: Path, baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> RunScatter:
    """Return what two single runs are judged by; what is assumed where nothing is known, or a side has several."""
    compared = (*baseline, *contender)
    run = contender[0].run if len(compared) == 2 and all(one.run for one in compared) else None
    if run is None:
        return ASSUMED
    if earlier := earlier_scatter(entries_of(reports / run.plan, LOOKED_AT_MOST), compared):
        return earlier
    test = known(reports, run.plan, run.load, run.profile)
    deviations = {}
    for metric in compared_metrics() if test and run.load.duration_s else ():
        if test and (variance := test.variance(metric, run.load.duration_s or 0.0)):
            deviations[TOTAL, metric.id] = Between(math.sqrt(variance), FREEDOM, is_whole=True)
    if not test or not deviations:
        return ASSUMED
    greatest = max(deviations.values())
    other = greatest._replace(is_whole=False)  # labels have fewer samples, and scatter more
    return RunScatter(f"their scatter is that of the trust test {test.test}", other, deviations)
