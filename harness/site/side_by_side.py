"""Compares two runs for the page that shows them side by side."""

from __future__ import annotations

from typing import Any

from harness.base.errors import UsageError
from harness.compare.outcome import REGRESSED, LabelComparison
from harness.compare.render import headline, is_better
from harness.compare.result import RunResult
from harness.compare.verdict import compare
from harness.plan.thresholds import Thresholds

# How many earlier runs a run is compared with: comparing all pairs grows with the square of the runs.
RUNS_BEFORE = 5


def comparison_json(base: RunResult, new: RunResult, thresholds: Thresholds) -> dict[str, Any]:
    """Return headline, warnings and, by label and metric, what became worse or better."""
    try:
        found = compare([base], [new], thresholds)
    except UsageError as error:
        return {"headline": f"Not judged: {error.what}.", "caveats": [], "marks": {}}
    rows = [*([found.total] if found.total else []), *found.labels]
    marks = {label.label: marked for label in rows if (marked := _marks(label))}
    return {"headline": headline(found), "caveats": list(found.warnings), "marks": marks}


def _marks(label: LabelComparison) -> dict[str, str]:
    return {
        metric.metric.id: "worse" if metric.verdict == REGRESSED else "better"
        for metric in label.metrics
        if metric.verdict == REGRESSED or is_better(metric)
    }
