"""Finds the sweeps of a plan."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.experiment.files import ExperimentFiles
from harness.run import kinds
from harness.run.directory import RunDirectory, load_record
from harness.run.recorded import recorded_in
from harness.sweep.record import SweepRecord


def find_sweep(reports_dir: Path, plan: str, text: str) -> ExperimentFiles:
    """Return the sweep named `sweep-07`, 07, 7 or `<plan>/sweep-07`. UsageError when it does not exist."""
    folder = reports_dir / plan
    sweeps = _sweeps(folder)
    wanted = re.fullmatch(rf"(?:{re.escape(plan)}/)?(?:sweep-)?(\d+)", text.strip())
    for files in sweeps:
        if wanted and int(kinds.SWEEP.rest_of(files.name)) == int(wanted[1]):
            return files
    names = [files.name for files in sweeps]
    there = f"{did_you_mean(text, names)}there are: {', '.join(names)}"
    todo = there if names else "there is none yet: leave RESUME out"
    raise UsageError(f"RESUME={text}: no sweep of {plan}", todo)


def sweeps_with(runs: Sequence[RunDirectory]) -> list[ExperimentFiles]:
    """Return the sweeps that have one of these runs; unreadable ones are left out."""
    found = []
    for folder in dict.fromkeys(run.path.parent for run in runs):
        names = {run.name for run in runs if run.path.parent == folder}
        for files in _sweeps(folder):
            with contextlib.suppress(UsageError):
                if names & {run.run for run in load_record(SweepRecord, files.record).measured}:
                    found.append(files)
    return found


def _sweeps(folder: Path) -> list[ExperimentFiles]:
    """Return the sweeps of a plan that have a record, by series."""
    return [ExperimentFiles(path) for path in recorded_in(folder, kinds.SWEEP.numbered)]
