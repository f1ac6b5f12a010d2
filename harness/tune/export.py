"""The JSON of a designed experiment: its record with the results so far."""

from __future__ import annotations

from typing import Any

from harness.base.records import to_plain
from harness.metrics.metric import ERRORS
from harness.tune.advice import next_steps
from harness.tune.factors import assignments
from harness.tune.outcome import Outcome
from harness.tune.text import effect_name, headline


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Return the record as plain data, with the results."""
    record = outcome.record
    combinations = [
        {
            "values": assignments(record.factors, cell),
            "run_count": sum(one.run.cell == index for one in outcome.counted),
            "mean": outcome.mean_of(record.metric, index),
            "error_ratio": outcome.mean_of(ERRORS, index),
        }
        for index, cell in enumerate(record.cells)
    ]
    return {
        **to_plain(record),
        "verdict": outcome.verdict,
        "headline": headline(outcome),
        "scatter_ratio": outcome.scatter_ratio,
        "effects": [{**to_plain(effect), "text": effect_name(record.factors, effect)} for effect in outcome.effects],
        "combinations": combinations,
        "best": to_plain(outcome.best),
        "next": list(next_steps(outcome)),
    }
