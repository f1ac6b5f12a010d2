"""`scripts/nightly`: measures a suite of loads, judges them against the nights before, leaves one page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from harness.base import toolchain, units
from harness.base.errors import EXIT_OK, HarnessError, UsageError
from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.base.s3_address import parse_location
from harness.history.acceptance_files import ACCEPTED, read_acceptances
from harness.nightly.files import locked
from harness.nightly.record import Load, order_of
from harness.nightly.runner import FIRST_GUESS_S, SUITE, Night
from harness.nightly.storage import NightStorage
from harness.nightly.suite import Suite, SuiteRun, load_suite
from harness.plan.goal import GoalArguments, resolve_goal
from harness.plan.load import LoadArguments, load_record, parse_load, resolve_load
from harness.run.arguments import add_sure, refuse_empty
from harness.run.directory import check_space
from harness.run.preflight import check_asked
from harness.run.request import Names, resolve_request

REPORTS = toolchain.ROOT / "reports" / "nightly"
_EPILOG = """\
examples:
  scripts/nightly --dry-run                           what would be measured, in which order, and how long it takes
  scripts/nightly                                     measures env/nightly.toml, leaves reports/nightly/<date>.md
  scripts/nightly --suite env/mine.toml --s3 s3://bucket/prefix
  scripts/nightly --resume                            goes on with a night that was interrupted or killed

The runs go in rounds, A B C, A B C, so that a machine that gets slower does so under all loads alike. A run that fails
does not end the night; one that takes too long is stopped; one that no longer fits into the budget is not started.
docs/nightly.md says how a suite is written and what the page says.

exit codes: 0 fine; 1 something regressed or missed its goal; 2 wrong use, nothing was measured; 3 not all of it was
measured, is valid, or is in the storage, with --sure also when a run is DOUBTFUL; 70 an error of the harness itself;
130 interrupted: the page is written.
Where 1 and 3 both hold it is 1; the page tells both.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog="scripts/nightly",
        description="Measure a suite of loads, judge them against the nights before, leave reports/nightly/<date>.md.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = result.add_argument
    option("--suite", type=Path, default=toolchain.ROOT / SUITE, help=f"what is measured: a TOML file ({SUITE})")
    add_sure(result)
    option("--dry-run", action="store_true", help="check everything, print the order of the runs, start nothing")
    option("--resume", action="store_true", help="go on with the last night, which did not come to its end")
    option("--s3", help="s3://bucket/prefix: fetch the figures of earlier nights from there, push each run to it")
    option("--endpoint-url", help="address of a server that speaks S3, other than AWS")
    summary = "append the page to this file, as a summary of a workflow's step ($GITHUB_STEP_SUMMARY)"
    option("--summary", type=Path, help=summary)
    option("--reports", type=Path, default=REPORTS, help="where the nights and their runs go (reports/nightly/)")
    option("--home", type=Path, default=toolchain.ROOT, help="folder that holds plans/, env/ and systems/ (this one)")
    option("--build", type=Path, default=toolchain.BUILD, help=argparse.SUPPRESS)
    return result


def main(arguments: Sequence[str]) -> int:
    """Measure the night that the arguments ask for, or go on with it; return the exit code."""
    options = parser().parse_args(arguments)
    refuse_empty(options)
    options.reports = options.reports.resolve()
    if options.dry_run and options.resume:
        raise UsageError("--dry-run and --resume exclude each other", "the night's page says what is left of it")
    if options.s3:
        parse_location(options.s3)
    suite = load_suite(options.suite)
    loads = tuple(_checked(run, suite, options) for run in suite.runs)
    read_acceptances(options.home / ACCEPTED)  # a line that is wrong is to be told now, not when all is measured
    if options.dry_run:
        _print_plan(suite, loads)
        return EXIT_OK
    with Interrupts() as interrupts, ExitStack() as stack:
        toolchain.jmeter_java_version()
        toolchain.ensure_jmeter()
        check_space(options.reports, 0)
        stack.enter_context(locked(options.reports))
        storage = NightStorage(options.s3, options.endpoint_url) if options.s3 else None
        if storage:
            storage.fetch(options.reports, loads)
        night = Night(options, suite, loads, storage, interrupts, stack.enter_context(Guardian()))
        with interrupts.held():
            return night.carry_out()


def _checked(run: SuiteRun, suite: Suite, options: argparse.Namespace) -> Load:
    """Return a load of the suite, checked as scripts/run would check it, and more: how long it takes must be known."""
    given = run.options
    where = f"{options.suite.name}: {run.title}"
    try:
        request = resolve_request(Names(run.plan, run.profile, given.get("target")), options.home, options.build)
        length = {name: given.get(name) for name in ("users", "rate", "ramp", "duration", "loops", "requests")}
        load = resolve_load(parse_load(LoadArguments(**length)), request.plan.load)
        goal = GoalArguments(**{name: given.get(name) for name in ("p90", "average", "errors")})
        resolve_goal(goal, request.plan.goal)
        thresholds = request.plan.thresholds.with_table(run.thresholds, "thresholds")
    except HarnessError as error:
        raise UsageError(f"{where}: {error.what}", error.todo) from None
    planned_s = run.at_most_s if load.duration_s is None else load.duration_s
    if planned_s is None:
        raise UsageError(f"{where}: loops end it, and how long that takes is not known", 'give at_most = "5m", too')
    try:
        check_asked(request, load)
    except UsageError as error:
        raise UsageError(f"{where}: {error.what}", error.todo, error.detail) from None
    return Load(
        plan=run.plan,
        profile=run.profile,
        title=suite.title_of(run),
        arguments=run.arguments,
        load=load_record(load, request.plan.load.think_time_s),
        target=request.target.url if request.target else None,
        repeats=run.repeats,
        planned_s=planned_s,
        limit_s=planned_s + request.profile.overrun_s + suite.slack_s,
        thresholds=thresholds,
    )


def _print_plan(suite: Suite, loads: tuple[Load, ...]) -> None:
    """Print the runs in their order with the planned seconds, and the total against the budget."""
    runs = order_of(loads)
    total_s = sum(loads[run.load].planned_s + FIRST_GUESS_S for run in runs)
    print(f"{suite.title}: {units.plural(len(runs), 'run')}, nothing is started")
    for place, run in enumerate(runs, start=1):
        load = loads[run.load]
        planned = f"{units.number_text(load.planned_s)} s"
        print(f"{place:3}. {load.title}, profile {load.profile}, round {run.turn} of {load.repeats}: {planned}")
    start = f"{units.number_text(FIRST_GUESS_S)} s for each start among them"
    total, budget = units.duration_text(round(total_s)), units.duration_text(suite.budget_s)
    print(f"about {total} in all, {start}; the budget is {budget}")
    if total_s > suite.budget_s:
        print("that is more than the budget: the last runs may not be started, and the night ends with code 3")
