"""A search for the largest number of users within a goal: its steps, each of which follows from the runs so far."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.base import units
from harness.base.errors import EXIT_OK, UsageError
from harness.compare.result import RunResult
from harness.metrics.window import STEADY_LEAST_S
from harness.plan.goal import Goal
from harness.plan.goal_input import goal_names, resolve_goal
from harness.plan.load import USERS_MAX, LoadRecord, load_record
from harness.run.arguments import goal_arguments
from harness.run.request import Request
from harness.sweep.arguments import SETTINGS, new_record, sweep_command
from harness.sweep.driver import MostUsers, Progress, SweepKind
from harness.sweep.level_runner import level_load
from harness.sweep.levels import level_run, levels_of
from harness.sweep.record import CAPACITY, SweepRecord, SweepStep
from harness.sweep.search import Probe, capacity, next_users
from harness.sweep.terminal import capacity_text, goal_text, steps_table

_MOST = "400"
_WARM_UP_USERS = 10
_SETTINGS = (*goal_names(), "from", "most", *SETTINGS)


def capacity_kind(options: argparse.Namespace) -> SweepKind:
    """Return how the search of the options runs. UsageError for options of levels, which it chooses itself."""
    if given := next((name for name in ("users", "repeat", "remotes") if getattr(options, name)), None):
        raise UsageError(f"--find chooses the levels itself: --{given} has no effect", f"leave --{given} out")

    def record_of(requests: Mapping[str, Request]) -> SweepRecord:
        request = next(iter(requests.values()))
        goal = resolve_goal(goal_arguments(options), request.plan.goal)
        if goal == Goal():
            raise UsageError(f"PLAN={options.plan} has no goal for the search", "give P90=1000 or AVERAGE=500")
        first = units.parse_whole_number(getattr(options, "from") or str(_least(request)), "FROM", 1, USERS_MAX)
        most = units.parse_whole_number(options.most or _MOST, "MOST", 1, USERS_MAX)
        if first > most:
            raise UsageError(f"FROM={first} is more than MOST={most}", "give a greater MOST")
        command = sweep_command(CAPACITY, options, ("plan", *_SETTINGS, "env"))
        record = new_record(options, request, CAPACITY, command)
        record = replace(record, goal=goal.with_default_errors(), first_users=first, most_users=most)
        for users in (first, most):
            level_load(request, record, users)
        return record

    return SweepKind((*_SETTINGS, "note", "new"), False, record_of, _Search, _most_users)


def _most_users(record: SweepRecord) -> MostUsers:
    """Return the maximum of the search; the warm-up has at least ten users, but not more than that."""
    bounds = _Bounds.of(record)
    return MostUsers(bounds.most_users, min(max(bounds.first_users, _WARM_UP_USERS), bounds.most_users))


def _least(request: Request) -> int:
    """Return the fewest users that a level may have: each of several loads needs one."""
    return max(1, sum(bool(load.users) for load in request.plan.load.loads))


@dataclass(frozen=True)
class _Bounds:
    """The users of the first run of a search, and the largest number of users that it tries."""

    first_users: int
    most_users: int

    @classmethod
    def of(cls, record: SweepRecord) -> _Bounds:
        """Return the bounds of a search. UsageError for a sweep."""
        if record.first_users is None or record.most_users is None:
            raise UsageError(f"{record.id} is not a capacity search", "resume it with make sweep")
        return cls(record.first_users, record.most_users)


class _Search:
    """The schedule of a capacity search: each step follows from the runs before it."""

    def __init__(self, record: SweepRecord, request: Request) -> None:
        bounds = _Bounds.of(record)
        self._first, self._most = bounds.first_users, bounds.most_users
        self._least = _least(request)
        self._goal = request.plan.goal
        self._request = request

    def next_step(self, progress: Progress) -> SweepStep | None:
        """Return the step that narrows or confirms the bracket."""
        users = next_users(_probes(progress), self._first, self._most, self._unsure(progress), self._least)
        runs = progress.record.measured
        return None if users is None else SweepStep(users, 1 + sum(run.users == users for run in runs))

    def _unsure(self, progress: Progress) -> dict[int, str]:
        """Return the undecided levels, with the reasons."""
        # Imported here, because NumPy loads slowly and the first run does not need it.
        from harness.sweep.analysis import outcome

        pairs = zip(progress.record.measured, progress.results, strict=True)
        levels = levels_of((run.users, level_run(result)) for run, result in pairs)
        found = {level.users: outcome(level, self._goal) for level in levels}
        return {users: "; ".join(one.reasons) for users, one in found.items() if one.is_within is None}

    def heading(self, progress: Progress, step: SweepStep) -> str:
        """Return the users of the step, and the bracket so far."""
        record = progress.record
        found = capacity(_probes(progress), self._first, self._most, self._unsure(progress), self._least)
        low = f"{found.users} within" if found.users else ""
        high = f"{found.missed_users} {'not sure' if found.is_unsure else 'missed'}" if found.missed_users else ""
        known = "; ".join(part for part in (low, high) if part) or goal_text(self._goal)
        again = f" again (run {step.repeat})" if step.repeat > 1 else ""
        advice = "" if record.measured else _advice(self._load(record))
        number = len(record.measured) + 1
        return f"{advice}{record.id}: step {number}, {units.plural(step.users, 'user')}{again} ({known})"

    def _load(self, record: SweepRecord) -> LoadRecord:
        """Return the load of the largest level."""
        return load_record(level_load(self._request, record, self._most), self._request.plan.load)

    def planned_s(self, step: SweepStep) -> float | None:  # noqa: ARG002
        """Return None: nobody needs it while the number of steps is unknown."""
        return None

    def left_s(self, progress: Progress) -> Sequence[float | None]:  # noqa: ARG002
        """Return nothing: the number of steps is not known."""
        return ()

    def is_broken(self, result: RunResult) -> bool:
        """Return whether a run has no samples; a run with errors only is a level above the limit."""
        return result.is_invalid and result.total is None

    def closing(self, progress: Progress) -> str:
        """Return the table of the steps, and the answer."""
        probes = _probes(progress)
        unsure = self._unsure(progress)
        found = capacity(probes, self._first, self._most, unsure, self._least)
        text = capacity_text(found, self._goal, unsure.get(found.missed_users or 0, ""))
        return f"{steps_table(probes, progress.results, unsure)}\n\n{progress.record.id}: {text}"


def _advice(load: LoadRecord) -> str:
    """Return a line about levels that are too short to be steady, empty for other levels."""
    least_s = load.ramp_s + STEADY_LEAST_S
    if load.duration_s is None or load.duration_s >= least_s:
        return ""
    return (
        f"note: levels of {units.duration_text(load.duration_s)} are too short to be steady, so each will be DOUBTFUL "
        f"and decide nothing; it takes {units.duration_text(least_s)} (LEVEL_DURATION)\n"
    )


def _probes(progress: Progress) -> list[Probe]:
    pairs = zip(progress.record.measured, progress.results, strict=True)
    return [
        Probe(run.users, result.verdict is not None and result.verdict.exit_code == EXIT_OK) for run, result in pairs
    ]
