"""Exports sweeps with full precision as JSON, and as CSV, which `lth sweep` can also read."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from harness.base.records import to_plain
from harness.report.export import json_text, no_formula
from harness.report.results import KEY
from harness.sweep.analysis import SweepAnalysis
from harness.sweep.answer import result_of
from harness.sweep.labels import transactions_of
from harness.sweep.levels import FIGURES, Level, Sweep
from harness.sweep.overlay import result_of_sweeps
from harness.sweep.pairs import SweepComparison
from harness.sweep.text import warnings_of

FORMAT_VERSION = 1


def sweeps_csv(sweeps: Sequence[Sweep]) -> str:
    """Return a CSV with one line per sweep and level; unknown values are empty cells."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    swept = ["setting"] if any(sweep.is_of_setting for sweep in sweeps) else []
    writer.writerow(["sweep", "users", *swept, "run_count", *FIGURES])
    for sweep in sweeps:
        for level in sweep.levels:
            figures = [level.figures.of(name) for name in FIGURES]
            names = [sweep.name, level.users, *([no_formula(level.setting)] if swept else [])]
            writer.writerow([*names, len(level.counted), *("" if value is None else value for value in figures)])
    return lines.getvalue()


def sweeps_json(
    sweeps: Sequence[Sweep], analyses: Sequence[SweepAnalysis], comparisons: Sequence[SweepComparison]
) -> str:
    """Return the text of `sweeps_data`."""
    return json_text(sweeps_data(sweeps, analyses, comparisons))


def sweeps_data(
    sweeps: Sequence[Sweep],
    analyses: Sequence[SweepAnalysis],
    comparisons: Sequence[SweepComparison],
    first_chart: str = "",
) -> dict[str, Any]:
    """Return one object: the result, levels, runs and findings of each sweep, and the comparisons."""
    return {
        "format_version": FORMAT_VERSION,
        KEY: result_of_sweeps(sweeps, analyses, comparisons, first_chart),
        "sweeps": [_sweep(sweep, analysis) for sweep, analysis in zip(sweeps, analyses, strict=True)],
        "comparisons": comparisons,
    }


def _sweep(sweep: Sweep, analysis: SweepAnalysis) -> dict[str, Any]:
    return {
        "name": sweep.name,
        "answer": result_of(sweep, analysis).headline,
        "analysis": analysis,
        "levels": [_level(level) for level in sweep.levels],
        "missing_users": list(sweep.missing_users),
        **({"missing_settings": list(sweep.missing_settings)} if sweep.is_of_setting else {}),
        "caveats": warnings_of(sweep, analysis),
    }


def _level(level: Level) -> dict[str, Any]:
    return {
        "users": level.users,
        **({"setting": level.setting} if level.setting else {}),
        **to_plain(level.figures),
        "transactions": {one.name: one.figures for one in transactions_of([level])},
        "runs": [
            {
                "name": run.name,
                "state": run.verdict.state if run.verdict else None,
                "caveats": list(run.warning_codes),
                "account": to_plain(run.account),
                **to_plain(run.figures),
            }
            for run in level.runs
        ],
    }
