"""Finds the sweeps of a plan."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.experiment.files import ExperimentFiles
from harness.run import kinds
from harness.run.directory import RunDirectory, load_record
from harness.run.names import ambiguous
from harness.run.recorded import recorded_in
from harness.sweep.record import SweepRecord


def find_sweep(reports_dir: Path, plan: str, text: str) -> ExperimentFiles:
    """Return the sweep named `sweep-07`, 07, 7 or `<plan>/sweep-07`, also with its id, such as 07-4f2a.

    UsageError when it does not exist, or when several have that name.
    """
    sweeps = _sweeps(reports_dir / plan)
    names = [files.name for files in sweeps]
    series = kinds.SWEEP.rest_of(text.strip().removeprefix(f"{plan}/")).zfill(2)
    wanted = kinds.full_names(kinds.SWEEP.named(series), names)
    found = [files for files in sweeps if files.name in wanted]
    if len(found) > 1:
        raise ambiguous(f"RESUME={text}", [files.folder for files in found])
    if found:
        return found[0]
    todo = (
        f"{did_you_mean(text, names)}there are: {', '.join(names)}" if names else "there is none yet: leave RESUME out"
    )
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
