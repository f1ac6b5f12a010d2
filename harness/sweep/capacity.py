"""A search for the largest number of users within a goal: its record, and the steps that follow from its runs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from harness.base import units
from harness.base.errors import EXIT_OK, UsageError
from harness.experiment.counting import Needs
from harness.experiment.warm import NextRun
from harness.metrics.window import STEADY_LEAST_S
from harness.plan.goal import Goal
from harness.plan.goal_input import resolve_goal
from harness.plan.load.model import USERS_MAX, LoadRecord, load_record
from harness.run.arguments import goal_arguments
from harness.run.request import Request
from harness.sweep.arguments import new_record
from harness.sweep.design import SweepDesign, level_load
from harness.sweep.files import SweepSoFar
from harness.sweep.levels import level_run, levels_of
from harness.sweep.record import CAPACITY, SweepRecord, SweepRun
from harness.sweep.search import Probe, capacity, next_users

_MOST = "400"


def search_record(options: argparse.Namespace, requests: Mapping[str, Request]) -> SweepRecord:
    """Return the record of a new search. UsageError for options of levels, and without a goal."""
    if given := next((name for name in ("users", "repeat") if getattr(options, name)), None):
        raise UsageError(f"--find chooses the levels itself: --{given} has no effect", f"leave --{given} out")
    request = next(iter(requests.values()))
    goal = resolve_goal(goal_arguments(options), request.plan.goal)
    if goal == Goal():
        raise UsageError(f"--plan={options.plan} has no goal for the search", "give one, such as --goal='p95<1s'")
    first = units.parse_whole_number(getattr(options, "from") or str(_least(request)), "--from", 1, USERS_MAX)
    most = units.parse_whole_number(options.most or _MOST, "--most", 1, USERS_MAX)
    if first > most:
        raise UsageError(f"--from={first} is more than --most={most}", "give a greater --most")
    record = new_record(options, request, CAPACITY)
    record = replace(record, goal=goal.with_default_errors(), first_users=first, most_users=most)
    for users in (first, most):
        level_load(request, record, users)
    return record


def _least(request: Request) -> int:
    """Return the fewest users that a level may have: each of several loads needs one."""
    return max(1, sum(bool(load.users) for load in request.plan.load.loads))


class _Bounds(NamedTuple):
    """The users of the first run, and the largest number of users that is tried."""

    first_users: int
    most_users: int


class CapacitySearch(SweepDesign):
    """A capacity search: each level follows from the runs before it. A run with errors only is above the limit."""

    needs = Needs.NUMBERS

    def next_run(self, so_far: SweepSoFar) -> NextRun | None:
        """Return the run that narrows or confirms the bracket; its heading has the bracket so far."""
        record = so_far.record
        probes, unsure, bounds = _probes(so_far), self._unsure(so_far), self._bounds(record)
        users = next_users(probes, bounds.first_users, bounds.most_users, unsure, _least(self.request))
        if users is None:
            return None
        run = SweepRun(users, 1 + sum(run.users == users for run in record.measured))
        found = capacity(probes, unsure)
        low = f"{found.users} within" if found.users else ""
        high = f"{found.missed_users} {'not sure' if found.is_unsure else 'missed'}" if found.missed_users else ""
        known = "; ".join(part for part in (low, high) if part) or self.request.plan.goal.text
        again = f" again (run {run.repeat})" if run.repeat > 1 else ""
        advice = "" if record.measured else _advice(self._largest_load(record))
        step = f"step {len(record.measured) + 1}, {units.plural(users, 'user')}{again}"
        return NextRun(run, f"{advice}{record.id}: {step} ({known})")

    def _unsure(self, so_far: SweepSoFar) -> set[int]:
        """Return the undecided levels."""
        if not so_far.results:
            return set()
        # Imported here, because NumPy loads slowly and the first run does not need it.
        from harness.sweep.analysis import outcome

        pairs = zip(so_far.record.measured, so_far.results, strict=True)
        levels = levels_of((run.users, level_run(result)) for run, result in pairs)
        return {level.users for level in levels if outcome(level, self.request.plan.goal).is_within is None}

    def _bounds(self, record: SweepRecord) -> _Bounds:
        assert record.first_users is not None
        assert record.most_users is not None
        return _Bounds(record.first_users, record.most_users)

    def _largest_load(self, record: SweepRecord) -> LoadRecord:
        return load_record(level_load(self.request, record, self._bounds(record).most_users), self.request.plan.load)


def _advice(load: LoadRecord) -> str:
    """Return a line about levels that are too short to be steady, empty for other levels."""
    least_s = load.ramp_s + STEADY_LEAST_S
    if load.duration_s is None or load.duration_s >= least_s:
        return ""
    return (
        f"note: levels of {units.duration_text(load.duration_s)} are too short to be steady, so each will be DOUBTFUL "
        f"and decide nothing; it takes {units.duration_text(least_s)} (--duration)\n"
    )


def _probes(so_far: SweepSoFar) -> list[Probe]:
    pairs = zip(so_far.record.measured, so_far.results, strict=True)
    return [
        Probe(run.users, result.verdict is not None and result.verdict.exit_code == EXIT_OK) for run, result in pairs
    ]
