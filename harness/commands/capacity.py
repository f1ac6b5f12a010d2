"""`scripts/capacity`: find the largest number of users within a goal."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.base import units
from harness.base.errors import EXIT_OK, UsageError
from harness.compare.result import RunResult
from harness.live.watchers import add_watchers, watcher_options
from harness.metrics.window import STEADY_LEAST_S
from harness.plan.goal import Goal
from harness.plan.goal_input import goal_names, resolve_goal
from harness.plan.load import USERS_MAX, LoadRecord, load_record
from harness.run.arguments import goal_arguments
from harness.run.request import Request
from harness.sweep.arguments import SETTINGS, add_sweep_options, new_record, sweep_command
from harness.sweep.driver import MostUsers, Progress, SweepKind, run_sweep
from harness.sweep.level_runner import level_load
from harness.sweep.levels import level_run, levels_of
from harness.sweep.record import CAPACITY, SweepRecord, SweepStep
from harness.sweep.search import MOST_RUNS, UNSURE_RUNS, Probe, capacity, next_users
from harness.sweep.terminal import capacity_text, goal_text, steps_table

_MOST = "400"
_WARM_UP_USERS = 10
_SETTINGS = (*goal_names(), "from", "most", *SETTINGS)
_EPILOG = """\
examples:
  scripts/capacity --plan killbill-stripe                            (the plan's own goal)
  scripts/capacity --plan killbill-stripe --p90 2000 --errors 1% --duration 3m
  scripts/capacity --plan killbill-stripe --average 500 --from 20 --most 200
  scripts/capacity --plan killbill-stripe --resume sweep-07          (after Ctrl-C; or repeat the command)

The search doubles the users until a level misses the goal, then halves the interval until it is 5 % or one user wide.
It then repeats both ends of the interval; when two runs disagree, a third one decides. A level is undecided when the
95 % confidence interval of a time contains the goal, or a run is DOUBTFUL. An undecided level runs up to
{unsure_runs} times; after that the search continues below it, and the result reports it. Undecided first levels are
decided by a higher level within the goal; two that stay undecided end a search without such a level. Each step is an
ordinary run of the series, at most {most_runs} in total. The report is sweep-<series>.md.

exit codes: 0 success, also when the result is CANNOT TELL; 2 wrong use, nothing was measured; 3 a run is INVALID for
another reason than the goal, with --sure also DOUBTFUL; 130 interrupted.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `scripts/capacity`."""
    parser.description = "Find the largest number of users within a goal and write reports/<plan>/sweep-<series>."
    parser.epilog = _EPILOG.format(most_runs=MOST_RUNS, unsure_runs=UNSURE_RUNS)
    option = parser.add_argument
    option("--from", help="users of the first run (the fewest that the plan allows: 1, or 1 for each of several loads)")
    option("--most", help=f"the largest number of users to try ({_MOST})")
    add_sweep_options(parser)
    add_watchers(parser)
    parser.set_defaults(remotes=None, keys=None)  # a search may try fewer users than there are load generators


def run(options: argparse.Namespace) -> int:
    """Run the search and return the exit code."""
    followed = watcher_options(options, "the whole search")

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

    kind = SweepKind((*_SETTINGS, "note", "new"), False, record_of, _Search, _most_users)
    return run_sweep(options, kind, followed.open)


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
