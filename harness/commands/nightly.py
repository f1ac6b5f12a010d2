"""`lth nightly`: run a suite of loads, compare them with earlier nightly runs, and write one report."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base import units
from harness.base.errors import EXIT_INTERRUPTED, EXIT_OK, HarnessError, UsageError
from harness.base.guardian import Guardian
from harness.base.install.before_setup import needs_set_up
from harness.base.interrupts import Interrupts
from harness.base.log import log, print_text
from harness.base.paths import shown
from harness.base.s3_address import parse_location
from harness.cli.options import FOLDERS, FOLLOWED, PUBLISHED, kinds_of_runs, of_runs, take
from harness.experiment.arguments import budget_of
from harness.experiment.execute import InChildren
from harness.experiment.files import FIRST_GUESS_S, ExperimentFiles, Experiments
from harness.experiment.record import RUNNING
from harness.experiment.runner import Runner, Written, rewritten
from harness.experiment.start import ExperimentParts, get_ready, log_end, run_experiment
from harness.history.acceptance import ACCEPTED, read_acceptances
from harness.kinds.nightly.record import Load, NightlyRecord, order_of
from harness.kinds.nightly.steps import NightlyRun, NightlyStorage, new_record
from harness.kinds.nightly.suite import Suite, SuiteRun, load_suite
from harness.live.watchers import watcher_options
from harness.notify.recipients import Recipients, recipients_of
from harness.plan.goal_input import goal_names, resolve_goal
from harness.plan.job import latest_end_s
from harness.plan.load.model import LoadArguments, LoadRecord, load_record, parse_load, resolve_load
from harness.plan.stop import parse_stop
from harness.run import kinds
from harness.run.arguments import changed, refuse_empty
from harness.run.consent import check_powers
from harness.run.powers import is_shipped, of_notify
from harness.run.preflight import check_request
from harness.run.request import Request, resolve_request
from harness.site.html_option import publish

if TYPE_CHECKING:
    from harness.kinds.nightly.outcome import NightlyResult
    from harness.kinds.trust.known import Known

_EPILOG = """\
examples:
  lth nightly --dry-run                           prints the runs, their order and their total time
  lth nightly                                     runs env/nightly.toml and writes reports/nightly/<date>.md
  lth nightly --suite env/mine.toml --s3 s3://bucket/prefix
  lth nightly --resume                            resumes a nightly run that was interrupted or killed

The runs go in rounds, A B C, A B C, so that a machine that gets slower affects all loads alike. A failed run does not
end the nightly run. A run that takes too long is stopped. A run that does not fit into the remaining time is skipped.
lth help nightly.md describes the suite and the report.

exit codes: 0 success; 1 a regression or a missed goal; 2 wrong use, nothing was measured; 3 a run is missing, INVALID,
or not in the storage, with --sure also DOUBTFUL; 70 an error of the harness itself; 130 interrupted, the report is
written. When both 1 and 3 apply, the exit code is 1; the report lists both.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `lth nightly`."""
    parser.description = (
        "Run a suite of loads, compare them with earlier nightly runs, and write reports/nightly/<date>.md."
    )
    parser.epilog = _EPILOG
    take(parser, f"suite sure dry-run max note s3/suite endpoint-url {PUBLISHED} {FOLLOWED} summary {FOLDERS}")
    take(parser.add_mutually_exclusive_group(), "resume new")


def run(options: argparse.Namespace) -> int:
    """Run or resume the nightly run and return the exit code."""
    refuse_empty(options)
    followed = watcher_options(options, "the whole nightly run")
    options.reports = kinds.NIGHTLY.folder_in(options.reports)
    if options.dry_run and options.resume:
        raise UsageError(
            "--dry-run and --resume cannot be used together", "the nightly report lists the remaining runs"
        )
    if options.resume and not options.suite.is_file():  # its command has a path in the project
        options.suite = options.home / options.suite
    if options.s3:
        parse_location(options.s3)
    budget_of(options)  # a wrong one is named before the set-up
    suite = load_suite(options.suite, kinds_of_runs())
    if not is_shipped(options.suite):
        check_powers(options.home, tuple(of_notify(suite.notify)))
    checked = [_checked(run, suite, options) for run in suite.runs]
    loads = tuple(one.load for one in checked)
    hidden = [secret for one in checked for secret in one.request.hidden]
    recipients = recipients_of(suite.notify, os.environ, options.suite.name) if suite.notify else None
    read_acceptances(options.home / ACCEPTED)  # reports an invalid line now, not after all runs
    needs_set_up()
    if options.dry_run:
        _print_plan(suite, loads, options.reports)
        if recipients:
            print_text(recipients.text)
        return EXIT_OK
    for line in recipients.unset if recipients else ():
        log(f"{options.suite.name} [notify]: {line}, so the result is not sent there")
    with Interrupts() as interrupts, ExitStack() as stack:
        # Now, and not within the time of the first run.
        get_ready([one.request for one in checked], options.reports)
        guardian = stack.enter_context(Guardian())
        children = stack.enter_context(followed.children(interrupts, guardian, hidden))
        storage = NightlyStorage(options.s3, options.endpoint_url) if options.s3 else None
        if storage:
            storage.fetch(options.reports, loads)

        return run_experiment(
            new_record(options, loads, suite), options, stack,
            ExperimentParts(
                lambda files, _: NightlyRun(files, options, _known, storage), lambda *_: InChildren(children),
                lambda runner: _close(runner, recipients, options), FIRST_GUESS_S, lambda *_: {}, _announced,
            ),
        )  # fmt: skip


def _known(reports: Path, plan: str, load: LoadRecord, profile: str) -> Known | None:
    """Return what the plan's newest trust test knows; None without one."""
    from harness.kinds.trust.known import known  # deferred: it loads NumPy

    return known(reports, plan, load, profile)


def _announced(files: ExperimentFiles, record: NightlyRecord) -> NightlyRecord:
    log(f"{record.title} {files.name}: {units.plural(len(record.waiting), 'run')}, {shown(files.report)}")
    return record


def _close(
    runner: Runner[NightlyRecord, NightlyRecord], recipients: Recipients | None, options: argparse.Namespace
) -> int:
    """Notify the recipients, publish the report, print its headline, and return the exit code."""
    # Deferred: --dry-run needs neither the gate nor templates, which are slow to import.
    from harness.kinds.nightly.answer import headline
    from harness.kinds.nightly.report_files import junit_suites, read_nightly_result

    files = runner.design.files
    result = read_nightly_result(files, options.home)
    if recipients:
        result = _notified(runner, result, recipients, options.home)
    options.junit.take(junit_suites(result))
    page = publish(files.report, options)
    log_end(result.record, files, headline(result), f" and {shown(page)}" if page else "")
    return EXIT_INTERRUPTED if result.record.state == RUNNING else result.exit_code_if(sure=options.sure)


def _notified(
    runner: Runner[NightlyRecord, NightlyRecord], result: NightlyResult, recipients: Recipients, home: Path
) -> NightlyResult:
    """Send the message about the result if it is due; return the result, which lists what was not delivered."""
    from harness.kinds.nightly.message import is_due, nightly_message
    from harness.kinds.nightly.report_files import read_nightly_result, verdict_before
    from harness.notify.delivery import deliver

    files = runner.design.files
    if not is_due(recipients.when, result.verdict, verdict_before(files, home)):
        return result
    link = recipients.link_to(f"nightly/{files.name}", shown(files.report))
    undelivered = deliver(nightly_message(result, link), recipients, log)
    if undelivered == result.record.undelivered:
        return result
    runner.store(undelivered=undelivered)
    return read_nightly_result(files, home)


@dataclass(frozen=True)
class _CheckedLoad:
    """A load of a suite, and the request of its runs."""

    load: Load
    request: Request


def _checked(run: SuiteRun, suite: Suite, options: argparse.Namespace) -> _CheckedLoad:
    """Return a load of the suite, checked like lth run does; its duration must be known, too."""
    given = run.options
    where = f"{options.suite.name}: {run.title}"
    try:
        words = (*run.arguments, f"--home={options.home}", f"--build={options.build}")
        request = resolve_request(changed(_run_parser().parse_args(words), is_from_file=True, yes=options.yes))
        length = {name: given.get(name) for name in ("users", "rate", "ramp", "duration", "loops", "requests")}
        load = resolve_load(parse_load(LoadArguments(**length)), request.plan.load)
        goal = resolve_goal({name: given.get(name) for name in goal_names()}, request.plan.goal)
        request = replace(request, plan=replace(request.plan, goal=goal))
        if "stop" in given:
            parse_stop(given["stop"])
        thresholds = request.plan.thresholds.with_table(run.thresholds, "thresholds")
    except HarnessError as error:
        raise UsageError(f"{where}: {error.what}", error.todo) from None
    planned_s = run.at_most_s if load.duration_s is None else load.duration_s
    if planned_s is None:
        raise UsageError(f"{where}: it ends after a number of loops, so its duration is unknown", 'add at_most = "5m"')
    try:
        check_request(request, load)
    except UsageError as error:
        raise UsageError(f"{where}: {error.what}", error.todo, error.detail) from None
    nightly_load = Load(
        plan=run.plan,
        profile=run.profile,
        title=suite.title_of(run),
        arguments=run.arguments,
        load=load_record(load, request.plan.load),
        target=request.target.url if request.target else None,
        repeats=run.repeats,
        planned_s=planned_s,
        limit_s=max(planned_s, latest_end_s(request.plan.jobs)) + request.profile.overrun_s + suite.slack_s,
        thresholds=thresholds,
    )
    return _CheckedLoad(nightly_load, request)


def _run_parser() -> argparse.ArgumentParser:
    """Return the parser of the options of a run that a suite may set."""
    parser = argparse.ArgumentParser()
    parser.set_defaults(verb="run")
    take(parser, f"{of_runs('curl part soak base jfr')} home build")
    return parser


def _print_plan(suite: Suite, loads: tuple[Load, ...], reports: Path) -> None:
    """Print the runs in their order with the planned seconds, the total against the budget, and what they can see."""
    runs = order_of(loads)
    total_s = sum(loads[run.load].planned_s + FIRST_GUESS_S for run in runs)
    print_text(f"{suite.title}: {units.plural(len(runs), 'run')}, nothing is started")
    for number, run in enumerate(runs, start=1):
        load = loads[run.load]
        planned = f"{units.number_text(load.planned_s)} s"
        print_text(
            f"{number:3}. {load.title}, profile {load.profile}, round {run.round_number} of {load.repeats}: {planned}"
        )
    start = f"including {units.number_text(FIRST_GUESS_S)} s for each start"
    total, budget = units.duration_text(round(total_s)), units.duration_text(suite.budget_s)
    print_text(f"about {total} in total, {start}; the budget is {budget}")
    if total_s > suite.budget_s:
        print_text("this exceeds the budget: the last runs may be skipped, then the exit code is 3")
    from harness.kinds.nightly.outcome import unseen  # deferred: it loads NumPy
    from harness.kinds.trust.known import known_text

    texts = [(load, unseen(load, suite.metrics, reports, _known)) for load in loads]
    lines = [known_text(None, load.plan) if text is None else text and f"{load.title}: {text}" for load, text in texts]
    for line in dict.fromkeys(filter(None, lines)):
        print_text(line)


def written(files: ExperimentFiles, options: argparse.Namespace) -> Written:
    """Write the report of a stored experiment again, and return what is said about it."""
    from harness.kinds.nightly.answer import headline
    from harness.kinds.nightly.report_files import junit_suites, read_nightly_result
    from harness.kinds.trust.known import known

    rewritten(NightlyRun(files, options, known), Experiments(NightlyRecord, options.reports), lambda *_: {})
    result = read_nightly_result(files, options.home)
    options.junit.take(junit_suites(result))
    return Written((headline(result),), result.exit_code_if(sure=options.sure))
