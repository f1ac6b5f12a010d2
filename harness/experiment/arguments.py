"""What the commands of experiments share: equal runs and their options."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from harness.base import git, units
from harness.base.errors import UsageError
from harness.base.secrecy import masked
from harness.experiment.record import RUNNING
from harness.plan.job import latest_end_s
from harness.plan.load.groups import total_users
from harness.plan.load.model import Load, LoadArguments, load_record, parse_load, resolve_load
from harness.plan.plan import Plan
from harness.run.arguments import command_of, run_arguments
from harness.run.request import Request

LENGTH = ("users", "rate", "ramp", "duration", "requests")
# What a run may take beyond its load and the profile's overrun_s: for starting and stopping the system.
SLACK_S = 300.0


def equal_load(plan: Plan, options: argparse.Namespace) -> Load:
    """Return the load of each run; UsageError when the runs would have different or unknown lengths."""
    request = parse_load(LoadArguments(**{name: getattr(options, name) for name in LENGTH}))
    if request.is_auto:
        raise UsageError("--duration=auto: the runs would have different lengths", "give a time, such as --duration=60")
    # All runs have the same length.
    load = resolve_load(request, replace(plan.load, auto_most_s=None))
    if load.duration_s is None:
        raise UsageError("the load ends after a number of loops, so its duration is unknown", "give --duration=60")
    return load


def default_users(request: Request) -> int:
    """Return the users of the plan; UsageError for a plan whose loads are all open."""
    load = request.plan.load
    users = total_users(load.loads) if load.loads else load.users
    if not users:
        raise UsageError("--users is missing", f"--plan={request.plan.name} has none: give the users of all levels")
    return users


def record_fields(
    request: Request, load: Load, overrun_s: float, options: argparse.Namespace, own: Collection[str]
) -> dict[str, Any]:
    """Return the fields of a new EqualRuns without those of its kind.

    All runs have the options of the command but `own`, of which each run has its value.
    """
    assert load.duration_s is not None
    plan = request.plan
    is_auto = plan.load.auto_most_s is not None and not options.duration
    length = {"duration": units.number_text(load.duration_s)} if is_auto else {}
    return {
        **new_fields(options, request),
        "plan": plan.name,
        "arguments": run_arguments(options, without=own, secret=False, changes=length),
        "load": load_record(load, plan.load),
        "planned_s": load.duration_s,
        "limit_s": max(load.duration_s, latest_end_s(plan.jobs)) + overrun_s + SLACK_S,
        "thresholds": plan.thresholds,
        "runs": (),
    }


def new_fields(options: argparse.Namespace, request: Request | None = None) -> dict[str, Any]:
    """Return the fields that are the same in each new record, with the secrets of a run masked; it has no name yet."""
    checkout = git.facts(options.home)
    hidden, properties = (request.hidden, request.properties) if request else ((), None)
    return {
        "name": "",
        "command": str(command_of(options, hidden, properties)),
        "budget_s": budget_of(options),
        "note": masked(options.note, hidden),
        "properties": properties or "",
        "headers": tuple(masked(text, hidden) for text in getattr(options, "header", ())),
        "state": RUNNING,
        "started_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "spent_s": 0.0,
        "git_commit": checkout.commit,
        "git_changed": checkout.is_changed,
    }


def own_arguments(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the arguments of all child runs that no record may contain as given: they may have secrets."""
    return run_arguments(options, secret=True)


def budget_of(options: argparse.Namespace) -> float | None:
    """Return the time limit of all runs, s; None without one."""
    return units.parse_duration_s(options.max, "--max") if getattr(options, "max", None) else None


def refuse_short_budget(options: argparse.Namespace, each_s: float, run_count: int, purpose: str) -> None:
    """Raise a UsageError for a budget that does not suffice for `run_count` runs of about `each_s`."""
    budget_s, needed_s = budget_of(options), run_count * each_s
    if budget_s is None or budget_s >= needed_s:
        return
    each, needed = (units.duration_text(seconds) for seconds in (each_s, needed_s))
    raise UsageError(
        f"--max={options.max} is too short for {purpose}: with the warm-up run they are {run_count} runs of "
        f"about {each}, {needed} together",
        f"give --max={round(needed_s / 60 + 0.5)}m, or a shorter --duration",
    )
