"""`scripts/trust`: what a benchmark sees: the smallest change, the cheapest test, and which metric must not gate."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from functools import partial

from harness.base import units
from harness.base.errors import UsageError
from harness.cli.options import FOLDERS, FOLLOWED, GOALS, of_runs, take, take_argument
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.runner import Written, rewritten
from harness.kinds.trust.design import starts_within
from harness.kinds.trust.record import TrustRecord
from harness.kinds.trust.steps import TrustTest
from harness.live.watchers import watcher_options
from harness.plan.goal_input import goal_names
from harness.plan.load.model import LoadArguments, parse_load
from harness.run.arguments import refuse_empty
from harness.run.request import Request
from harness.site.html_option import publish
from harness.sweep.arguments import default_users, new_record
from harness.sweep.driver import run_sweep, starting_s
from harness.sweep.level_runner import level_load
from harness.sweep.swept_set import requests_of

_DETECT_MOST = 1.0
_WITHOUT = f"loops curl port {GOALS} stop profile on part remotes soak base jfr"
_EPILOG = """\
examples:
  scripts/trust lb-nginx                                 which change of lb-nginx can be seen, with how many pairs
  scripts/trust lb-nginx --detect 2% --users 50 --duration 2m --max 1h
  scripts/trust thruzero --rate 5                        of an open load: five new users per second
  scripts/trust lb-nginx --resume                        resumes what was interrupted or killed
  scripts/trust --all                                    a page over all plans with a history; runs nothing

The plan runs twice after each of several starts of the system, so the scatter of a metric is split into that within a
run, between runs, between starts, and, with a history, between days. The report has the smallest change that an A/B
test finds in 80 % of cases, the cheapest test for --detect, and which metrics must not gate. docs/trust.md explains it.

exit codes: 0 success; 2 wrong use, nothing was measured; 3 the runs are INVALID; 130 interrupted, the report is
written.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `scripts/trust`."""
    parser.description = "Report the smallest change that a benchmark sees, and the cheapest A/B test that sees it."
    parser.epilog = _EPILOG
    take(parser, f"{of_runs(_WITHOUT)} detect max all/trust note html {FOLLOWED} {FOLDERS}")
    take(parser.add_mutually_exclusive_group(), "resume new")
    take_argument(parser, "plan", "?")
    # A sweep's settings that a trust test does not have.
    without = dict.fromkeys((*goal_names(), "loops", "stop", "remotes", "keys", "jfr"))
    parser.set_defaults(**without, warmup="0", fresh=False, profile=False, sure=False)


def run(options: argparse.Namespace) -> int:
    """Run or resume the test and return the exit code."""
    refuse_empty(options)
    if options.all:
        from harness.kinds.trust.overview import write_overview  # deferred: it reads all runs

        return write_overview(options.reports)
    followed = watcher_options(options, "the whole trust test")
    requests = requests_of(options, is_split=False)
    record = _record(options, next(iter(requests.values())))
    return run_sweep(options, record, requests, TrustTest, followed.open, partial(publish, is_html=options.html))


def _record(options: argparse.Namespace, request: Request) -> TrustRecord:
    """Return the record of a new test, without a name."""
    detect_ratio = units.parse_percent_ratio(options.detect, "DETECT")
    if not 0 < detect_ratio <= _DETECT_MOST:
        raise UsageError(f"DETECT={options.detect}: must be above 0 and at most 100%", "give a change such as 5%")
    sweep = new_record(options, request, "trust")
    values = {one.name: getattr(sweep, one.name) for one in fields(sweep)}
    record = TrustRecord(**values, detect_ratio=detect_ratio, thresholds=request.plan.thresholds)
    load = parse_load(LoadArguments(users=options.users, rate=options.rate))
    if load.users and load.rate_per_s:
        raise UsageError(f"USERS={options.users} and RATE={options.rate}: a trust test has one of them", "give one")
    users = 1 if load.rate_per_s else load.users or default_users(request)
    record = replace(record, users=(users,), rate_per_s=load.rate_per_s)
    load_s = level_load(request, record, users).duration_s
    if load_s is None:
        raise UsageError("the load ends after a number of loops, so its duration is unknown", "give DURATION=60")
    if options.resume:  # the stored test has its starts
        return record
    run_s = load_s + Experiments(TrustRecord, options.reports).guess_s(request.plan.name)
    return replace(record, repeat=starts_within(record.budget_s, run_s, starting_s(record)))


def written(files: ExperimentFiles, options: argparse.Namespace) -> Written:
    """Write the report of a stored experiment again, and return what is said about it."""
    from harness.kinds.trust.outcome import TrustOutcome, headline
    from harness.kinds.trust.steps import StoredTrust
    from harness.sweep.record import SweepRecord

    outcome = rewritten(StoredTrust(files), Experiments[SweepRecord](TrustRecord, options.reports))
    assert isinstance(outcome, TrustOutcome)
    return Written((headline(outcome),), outcome.exit_code)
