"""Finds the capacity that the offered load is a share of: that of the plan's last capacity search."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from harness.base import units
from harness.base.errors import UsageError
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.record import FINISHED
from harness.run.set_values import split_text
from harness.sweep.record import CAPACITY, SweepRecord


@dataclass(frozen=True)
class Capacity:
    """The successful requests per second at the greatest number of users within a goal, and where that was found."""

    requests_per_s: float
    source: str


def last_capacity(
    reports: Path, plan: str, profile: str, target: str | None, assignments: Collection[str]
) -> Capacity | None:
    """Return the capacity that the plan's last finished search found; None without one.

    It must have used the same profile, the same target, and a SET of just these assignments.
    """
    searches = Experiments(SweepRecord, reports)
    for files in reversed(searches.of(plan)):
        try:
            record = searches.read(files)
        except UsageError:
            continue  # of another version, or damaged: it does not count
        same = (record.kind, record.state, record.profile, record.target) == (CAPACITY, FINISHED, profile, target)
        if same and sorted(split_text(record.set_values or "")) == sorted(assignments):
            found = _capacity(files, record)
            if found:
                return found
    return None


def _capacity(files: ExperimentFiles, record: SweepRecord) -> Capacity | None:
    # Imported here, because NumPy loads slowly and a given RATE does not need it.
    from harness.sweep.analysis import analyse
    from harness.sweep.sources import read_sweep

    sweep = read_sweep(files.record).sweep
    answer = analyse(sweep.levels, sweep.goal).answer
    users = answer.users
    rates = [level.figures.success_rate_per_s for level in sweep.levels if level.users == users]
    if not users or not rates or not rates[0]:
        return None
    least = "at least " if answer.is_least else ""
    text = f"{least}{units.rate_text(rates[0])} successful requests/s at {units.plural(users, 'user')} ({record.name})"
    return Capacity(rates[0], text)
