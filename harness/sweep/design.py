"""The levels of `lth sweep` and of a capacity search: their loads, and how they run on a system that stays warm."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.experiment.files import ExperimentFiles
from harness.experiment.record import ExperimentRun
from harness.experiment.warm import WarmDesign, WarmLevel, WarmRuns, WarmUp
from harness.experiment.warm_runner import run_warm
from harness.plan.division import check_users, count_of_parts
from harness.plan.load.model import Load, LoadRequest, resolve_load
from harness.plan.stop import parse_stop
from harness.report.watchers import Follow
from harness.run import kinds
from harness.run.request import Request
from harness.sweep.files import StoredSweep, SweepSoFar
from harness.sweep.record import SweepRecord, SweepRun


@dataclass
class SweepDesign(WarmDesign[SweepRecord, SweepSoFar], StoredSweep):
    """A sweep of any kind."""


def level_load(request: Request, sweep: SweepRecord, users: int) -> Load:
    """Return the load of a level. UsageError when the sweep's ramp, duration and loops are invalid for it."""
    wanted = LoadRequest(users, sweep.ramp_s, sweep.duration_s, sweep.loops, requests=sweep.requests)
    # All levels have the same length.
    load = resolve_load(wanted, replace(request.plan.load, auto_most_s=None))
    check_users(load, count_of_parts(load, len(request.places)))
    return load


def run_sweep(
    options: argparse.Namespace,
    new: SweepRecord,
    requests: Mapping[str, Request],
    kind: Callable[[ExperimentFiles, WarmRuns[SweepRecord]], SweepDesign],
    follow: Follow,
    publish: Callable[[Path], object],
) -> int:
    """Start or resume a sweep and return its exit code; see `run_warm`.

    `requests` has the request of each level by its value of the swept setting, see `requests_of`.
    """
    return run_warm(options, new, sweep_runs(new, requests, options.jfr), kind, follow, publish)


def sweep_runs(
    new: SweepRecord, requests: Mapping[str, Request], recording: Path | None = None
) -> WarmRuns[SweepRecord]:
    """Return the runs of a sweep with the settings of `new`."""
    requests = {setting: _with_conditions(request, new) for setting, request in requests.items()}

    def level_of(record: SweepRecord, run: ExperimentRun) -> WarmLevel:
        assert isinstance(run, SweepRun)
        request = requests[run.setting]
        return WarmLevel(
            request,
            level_load(request, record, run.users),
            kinds.level_note(record.name),
            run.users,
            restarts=record.fresh,
        )

    first = next(iter(requests.values()))
    extremes = [level_load(first, new, users) for users in (new.largest_users, new.warm_up_users)]
    warm_up = WarmUp(new.warm_up_users, new.warm_up_s, new.fresh)
    return WarmRuns(tuple(requests.values()), warm_up, extremes, level_of, recording)


def _with_conditions(request: Request, record: SweepRecord) -> Request:
    """Return the request with the goal and the stop conditions of a sweep, where it has its own."""
    plan = replace(request.plan, goal=record.goal) if record.goal else request.plan
    if record.stop:
        plan = replace(plan, stop=parse_stop(record.stop))
    return replace(request, plan=plan)
