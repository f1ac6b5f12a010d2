"""`lth sweep`: run a plan at several numbers of users, or values of a setting, and write one report."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from harness.base import units
from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, UsageError
from harness.cli.options import FOLDERS, FOLLOWED, of_sweeps, take, take_argument
from harness.experiment.arguments import default_users
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.record import RUNNING
from harness.experiment.runner import Written, rewritten
from harness.experiment.warm import NextRun
from harness.live.watchers import watcher_options
from harness.plan.goal_input import resolve_goal
from harness.plan.load.model import USERS_MAX
from harness.run.arguments import goal_arguments, refuse_empty
from harness.run.request import Request
from harness.site.html_option import publish
from harness.sweep.arguments import new_record
from harness.sweep.capacity import CapacitySearch, search_record
from harness.sweep.design import SweepDesign, level_load, run_sweep
from harness.sweep.files import SweepSoFar
from harness.sweep.record import CAPACITY, SWEEP, SweepRecord
from harness.sweep.search import MOST_RUNS, UNSURE_RUNS
from harness.sweep.swept_set import requests_of

_REPEAT_MAX = 100
_EPILOG = """\
examples:
  lth sweep --plan killbill-stripe --users 1,5,10,25,50
  lth sweep --plan killbill-stripe --users 10,25,50 --repeat 3 --fresh --duration 5m
  lth sweep --plan killbill-stripe --resume sweep-07         (after Ctrl-C or a crash; or repeat the command)
  lth sweep --plan killbill-stripe --users 1,5,10 --target http://127.0.0.1:8080
  lth sweep --plan lb-gwlb --users 50,100 --target http://127.0.0.1:8290 --jfr balancer.jfr  (heap, CPU)
  lth sweep --plan lb-nginx --users 50 --set "delay_ms=10,20,40"     (the levels are values of a setting)
  lth sweep --plan killbill-stripe --find --goal 'p90<2s' --from 20       (the largest number of users within it)
  lth sweep --plan killbill-stripe --users 5,50,500 --goal 'p95<1500, errors<1%' --stop 'errors>50% for 10s'

With --repeat 3 the levels run in rounds: 1,5,10, 1,5,10, 1,5,10. A system that gets slower over time then affects all
levels alike, and the effect is not mistaken for an effect of the users.

With one number of users, a name in --set may have several values: they are the levels, in rounds as above. For another
setting of the system it is restarted and warmed up before each level; for a property of the plan it is not.

With --find the command searches for the largest number of users within the goal, instead of the levels in --users. It
doubles the users until a level misses the goal, then halves the interval until it is 5 % or one user wide, and repeats
both ends; when two runs disagree, a third one decides. A level is undecided when the 95 % confidence interval of a time
contains the goal, or a run is DOUBTFUL. An undecided level runs up to {unsure_runs} times; after that the search
continues below it. There are at most {most_runs} runs.

With --stop a level that meets a condition ends early, and the next one starts.

exit codes: 0 success, also when a level misses the goal; 2 wrong use, nothing was measured; 3 a level is INVALID (with
--sure also DOUBTFUL), or the system did not start; 130 interrupted.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `lth sweep`."""
    parser.description = (
        "Run a plan at several numbers of users, or values of a setting, and write reports/<plan>/sweep-<series> with "
        "one report of all of them."
    )
    parser.epilog = _EPILOG.format(most_runs=MOST_RUNS, unsure_runs=UNSURE_RUNS)
    take(parser, f"users/levels repeat find from most {of_sweeps()} {FOLLOWED} {FOLDERS}")
    take(parser.add_mutually_exclusive_group(), "resume new")
    take_argument(parser, "plan", "?")


def parse_levels(text: str) -> tuple[int, ...]:
    """Return the numbers of users in a text such as 1,5,10. UsageError for an invalid or repeated number."""
    users: list[int] = []
    if not re.fullmatch(r"[^,]+(,[^,]+)*", text) or re.fullmatch(r"\d+(\.\.|-|:| )\d+", text):
        raise UsageError(f"--users={text}: not a list of levels", "give each, such as --users=1,5,10,25,50")
    for part in text.split(","):
        number = units.parse_whole_number(part, "--users", 1, USERS_MAX)
        if number in users:
            raise UsageError(
                f"--users={text}: {number} is listed twice", "give --repeat=2 to measure every level twice"
            )
        users.append(number)
    return tuple(users)


def run(options: argparse.Namespace) -> int:
    """Run the sweep, or with --find the search, and return the exit code."""
    refuse_empty(options)
    if options.find:
        options.verb, options.implied = CAPACITY, ["find"]
    kind, stops = (CapacitySearch, "the whole search") if options.find else (LevelSweep, "the whole sweep")
    followed = watcher_options(options, stops)
    splits_set = not options.find and "," not in (options.users or "")
    requests = requests_of(options, is_split=splits_set)
    record = search_record(options, requests) if options.find else _record(options, requests)
    pages = partial(publish, options=options)
    return run_sweep(options, record, requests, kind, followed.open, pages)


def _record(options: argparse.Namespace, requests: Mapping[str, Request]) -> SweepRecord:
    """Return the record of a new sweep over levels; it has no name yet."""
    request, values = next(iter(requests.values())), tuple(filter(None, requests))
    if not options.users and not values:
        todo = 'give the levels: --users=1,5,10,25,50, or values of a setting: --set="delay_ms=10,20,40"'
        raise UsageError("--users is missing", todo)
    record = new_record(options, request, SWEEP)
    repeat = units.parse_whole_number(options.repeat or "1", "--repeat", 1, _REPEAT_MAX)
    users_of_levels = parse_levels(options.users) if options.users else (default_users(request),)
    # Another setting of the system needs another start of it; a property of the plan does not.
    restarts = len({str(one.settings) for one in requests.values()}) > 1
    record = replace(record, users=users_of_levels, repeat=repeat, values=values, fresh=record.fresh or restarts)
    texts = goal_arguments(options)
    if any(texts.values()):
        record = replace(record, goal=resolve_goal(texts, request.plan.goal).with_default_errors())
    for users in record.users:
        level_load(request, record, users)
    return record


class LevelSweep(SweepDesign):
    """A sweep over a list of levels, in rounds."""

    def next_run(self, so_far: SweepSoFar) -> NextRun | None:
        """Return the first run that is not measured yet; its heading has the number of the level."""
        record = so_far.record
        if not record.steps_left:
            return None
        run, count = record.steps_left[0], len(record.steps)
        round_text = f", round {run.repeat} of {record.repeat}" if record.repeat > 1 else ""
        number = count - len(record.steps_left) + 1
        return NextRun(run, f"{record.id}: level {number} of {count}, {run.text}{round_text}")

    def left_s(self, so_far: SweepSoFar) -> Sequence[float | None]:
        """Return the planned durations of all runs that are left."""
        return [self.runs.planned_s(so_far.record, run) for run in so_far.record.steps_left]


def written(files: ExperimentFiles, options: argparse.Namespace) -> Written:
    """Write the report of a stored experiment again, and return what is said about it."""
    from harness.sweep.files import StoredSweep

    design = StoredSweep(files)
    record = rewritten(design, Experiments(SweepRecord, options.reports), lambda *_: {}).record
    code = EXIT_OK if record.measured else EXIT_INVALID
    return Written(("", design.answer), EXIT_INTERRUPTED if record.state == RUNNING else code)
