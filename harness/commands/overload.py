"""`lth overload`: offer a system up to twice its capacity, and report whether its goodput collapses."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from rich.console import Console

from harness.base import units
from harness.base.command import Command
from harness.base.errors import UsageError
from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.base.log import log
from harness.base.open_files import allow_most_open_files
from harness.base.project import DEFAULT_PROFILE
from harness.cli.options import FOLDERS, FOLLOWED, LIMITS, PUBLISHED, of_runs, take, take_argument
from harness.experiment.arguments import budget_of, new_fields, own_arguments
from harness.experiment.execute import InChildren
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.runner import Runner, Written, rewritten
from harness.experiment.start import ExperimentParts, log_end, run_experiment
from harness.kinds.overload.levels import LEVEL_LEAST_S, LEVEL_MOST_S, load_of
from harness.kinds.overload.record import GIVEN_RATE, OverloadRecord, common_assignments, parse_variants
from harness.kinds.overload.render import printed_overload
from harness.kinds.overload.runner import (
    OVERHEAD_S,
    KnownCapacity,
    OverloadTest,
    last_capacity,
    one_user,
    planned_s,
    with_rate,
)
from harness.live.watchers import watcher_options
from harness.plan.goal import Goal
from harness.plan.goal_input import resolve_goal
from harness.plan.jmx.thread_groups import load_groups
from harness.plan.jmx.tree import LOAD_GROUP
from harness.plan.load.model import RATE_MAX_PER_S
from harness.run.arguments import changed, refuse_empty, run_arguments
from harness.run.context import RunContext, ready_jmeter, warn_of
from harness.run.other_runs import OtherRuns
from harness.run.preflight import check_request, log_warnings
from harness.run.request import Request, resolve_request
from harness.site.html_option import publish

_LEVEL_S = 30
_WITHOUT = f"users rate ramp duration loops requests {LIMITS} curl port stop part soak base jfr"
_EPILOG = """\
examples:
  lth overload --plan thruzero --set 'page_count=1 max_connections=20 accept_count=10,1000'
  lth overload --plan killbill-litle --set 'max_threads=50 accept_count=10,1000' --goal 'p90<2s' --duration 15
  lth overload --plan thruzero --rate 1.5 --max 20m        (100 % are 1.5 new users per second)

One run per variant: new users arrive at 50, 75, 100, 125, 150 and 200 % of the capacity, one level after the other, and
then at 50 % again. Values with commas in --set make variants: every combination. 100 % are the requests per second at
the capacity that lth capacity found last with the same --set (what all variants have in common), or --rate.

An answer is good when it succeeds within the least time limit of the goal. The verdict of a variant is CONGESTION
COLLAPSE or GRACEFUL when the 95 % interval of (goodput at 200 %) / (peak goodput) is below or above 80 %, else
CANNOT TELL. The client's time-outs are those of the plan: response_timeout_ms=5000 in --set changes them.

The same command resumes an unfinished test. The report is overload-<series>.md.

exit codes: 0 success, whatever the verdicts; 2 wrong use, nothing was measured; 3 a variant has no usable run, such as
one whose system did not start; 130 interrupted, the report has the variants so far.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `lth overload`."""
    parser.description = (
        "Offer a system 50 % to 200 % of its capacity and write reports/<plan>/overload-<series>: goodput, rejections, "
        "time-outs and recovery of each variant."
    )
    parser.epilog = _EPILOG
    take(parser, f"{of_runs(_WITHOUT)} rate/full duration/level max note {PUBLISHED} {FOLLOWED} {FOLDERS}")
    take(parser.add_mutually_exclusive_group(), "resume new")
    take_argument(parser, "plan", "?")


def run(options: argparse.Namespace) -> int:
    """Run or resume the test and return the exit code."""
    refuse_empty(options)
    followed = watcher_options(options, "the whole overload test")
    requests = _requests(options)
    first = next(iter(requests.values()))
    record = _record(options, requests)
    capacity = _capacity(options, record)
    for request in requests.values():
        check_request(request, load_of(request.plan.load, record.capacity_per_s or 1.0, record.level_s))
        if capacity:
            check_request(request, one_user())
    allow_most_open_files()
    with Interrupts() as interrupts, ExitStack() as stack:
        jmeter = ready_jmeter(first, options.reports)
        context = RunContext(jmeter, interrupts, Console(), stack.enter_context(Guardian()))
        warn_of(OtherRuns().new(), log)
        log_warnings(first, log)
        hidden = [secret for request in requests.values() for secret in request.hidden]
        children = stack.enter_context(followed.children(interrupts, context.guardian, hidden))
        arguments = run_arguments(options, without=("set",), secret=False)
        folders = {name: getattr(options, name) for name in ("reports", "home", "build")}

        def prepare(_: ExperimentFiles, record: OverloadRecord) -> OverloadRecord:
            if capacity is None or record.capacity_per_s is not None:
                return record
            return with_rate(record, first, capacity, context)

        return run_experiment(
            record, options, stack,
            ExperimentParts(
                lambda files, _: OverloadTest(files, requests, arguments, folders),
                lambda *_: InChildren(children, own_arguments(options)),
                lambda runner: _closed(runner, options), OVERHEAD_S, lambda *_: {}, prepare,
            ),
        )  # fmt: skip


def _closed(runner: Runner[OverloadRecord, OverloadRecord], options: argparse.Namespace) -> int:
    """Print the result, publish the report and return the exit code."""
    record, files = runner.outcome, runner.design.files
    is_stored = files.record.is_file()
    if is_stored:
        publish(files.report, options)
    log_end(record, files if is_stored else None, printed_overload(record) if is_stored else "")
    return record.exit_code


def _requests(options: argparse.Namespace) -> Mapping[str, Request]:
    """Return the request of each variant; UsageError for a plan with another load, and for an invalid value."""
    base = resolve_request(changed(options, set=None))
    if base.plan.load.loads or load_groups(base.plan.jmx_path) != (LOAD_GROUP,):
        what = f"--plan={base.plan.name}: an overload test needs a plan with one load, in a thread group {LOAD_GROUP}"
        raise UsageError(what, "choose another plan")
    settings = base.manifest.settings if base.manifest else {}
    lists = {name for name, default in settings.items() if isinstance(default, list)}
    variants = parse_variants(options.set or "", lists)
    requests = {}
    for variant in variants:
        request = resolve_request(changed(options, set=variant or None))
        goal = resolve_goal({"goal": options.goal}, request.plan.goal)
        # No stop condition: it would end the overload.
        requests[variant] = replace(request, plan=replace(request.plan, goal=goal, stop=()))
    return requests


def _record(options: argparse.Namespace, requests: Mapping[str, Request]) -> OverloadRecord:
    """Return the record of a new test; it has no name yet. UsageError for an invalid option."""
    first = next(iter(requests.values()))
    goal = first.plan.goal
    level_s = units.parse_duration_s(options.duration, "--duration") if options.duration else float(_LEVEL_S)
    if not LEVEL_LEAST_S <= level_s <= LEVEL_MOST_S or not level_s.is_integer():
        span = f"{LEVEL_LEAST_S} to {LEVEL_MOST_S}"
        what = f"--duration={options.duration}: not a whole number of seconds from {span}"
        raise UsageError(what, "a level needs ten batches of a second")
    _check_budget(options, int(level_s), len(requests))
    rate = units.parse_number(options.rate, "--rate", 0.0, RATE_MAX_PER_S / 2) if options.rate else None
    return OverloadRecord(
        **new_fields(options, first),
        plan=first.plan.name,
        plan_title=first.plan.title,
        profile=first.profile.name,
        variants=tuple(requests),
        level_s=int(level_s),
        limit_ms=time_limit_ms(goal),
        goal=goal.text,
        capacity_per_s=rate,
        capacity_source=GIVEN_RATE if rate else "",
        target=first.target.url if first.target else None,
        runs=(),
    )


def time_limit_ms(goal: Goal) -> float:
    """Return the least time limit of a goal for the whole load, ms. UsageError without one."""
    limits = [limit for metric, limit in goal.of_metrics.items() if metric.is_time]
    limits += [goal.each_average_ms] if goal.each_average_ms is not None else []
    if not limits:
        raise UsageError("the goal has no time limit, so no answer can be judged as good", "give --goal='p90<2s'")
    return min(limits)


def _check_budget(options: argparse.Namespace, level_s: int, variant_count: int) -> None:
    budget_s = budget_of(options)
    needed_s = planned_s(level_s, variant_count)
    if budget_s is not None and needed_s > budget_s:
        what = f"this takes about {units.duration_text(needed_s)}, --max is {units.duration_text(budget_s)}"
        fewer = ", give fewer variants" if variant_count > 1 else ""
        raise UsageError(what, f"raise --max{fewer}, or shorten --duration")


def _capacity(options: argparse.Namespace, record: OverloadRecord) -> KnownCapacity | None:
    """Return the capacity that a search found; None when the rate is known. UsageError without a search."""
    if record.capacity_per_s is not None:
        return None
    common = common_assignments(record.variants)
    capacity = last_capacity(options.reports, record.plan, record.profile, record.target, common)
    if capacity is None:
        given = {"plan": record.plan, "set": " ".join(common), "target": record.target or ""}
        search = Command.of("capacity", **given, env="" if record.profile == DEFAULT_PROFILE else record.profile)
        what = "the capacity is not known: there is no finished capacity search with these settings"
        raise UsageError(what, f"run {search}, or give --rate=<new users per second>")
    return capacity


def written(files: ExperimentFiles, options: argparse.Namespace) -> Written:
    """Write the report of a stored experiment again, and return what is said about it."""
    record = rewritten(OverloadTest(files), Experiments(OverloadRecord, options.reports), lambda *_: {})
    return Written(("", printed_overload(record)), record.exit_code)
