"""`lth trust`: what a benchmark sees: the smallest change, the cheapest test, and which metric must not gate."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial

from harness.base import units
from harness.base.errors import UsageError
from harness.cli.options import FOLDERS, FOLLOWED, GOALS, PUBLISHED, of_runs, take, take_argument
from harness.experiment.arguments import LENGTH, default_users, new_fields
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.runner import Written, rewritten
from harness.experiment.warm_runner import run_warm
from harness.kinds.trust.design import starts_within
from harness.kinds.trust.record import TrustRecord
from harness.kinds.trust.steps import TrustTest, trust_runs
from harness.live.watchers import watcher_options
from harness.plan.load.model import LoadArguments, parse_load
from harness.run.arguments import refuse_empty
from harness.run.request import Request, resolve_request
from harness.site.html_option import publish

_DETECT_MOST = 1.0
_WITHOUT = f"loops curl port {GOALS} stop profile part soak base jfr"
_EPILOG = """\
examples:
  lth trust lb-nginx                                 which change of lb-nginx can be seen, with how many pairs
  lth trust lb-nginx --detect 2% --users 50 --duration 2m --max 1h
  lth trust thruzero --rate 5                        of an open load: five new users per second
  lth trust lb-nginx --resume                        resumes what was interrupted or killed
  lth trust --all                                    a page over all plans with a history; runs nothing

The plan runs twice after each of several starts of the system, so the scatter of a metric is split into that within a
run, between runs, between starts, and, with a history, between days. The report has the smallest change that an A/B
test finds in 80 % of cases, the cheapest test for --detect, and which metrics must not gate.
lth help trust.md explains it.

exit codes: 0 success; 2 wrong use, nothing was measured; 3 the runs are INVALID; 130 interrupted, the report is
written.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `lth trust`."""
    parser.description = "Report the smallest change that a benchmark sees, and the cheapest A/B test that sees it."
    parser.epilog = _EPILOG
    take(parser, f"{of_runs(_WITHOUT)} detect max all/trust note {PUBLISHED} {FOLLOWED} {FOLDERS}")
    take(parser.add_mutually_exclusive_group(), "resume new")
    take_argument(parser, "plan", "?")


def run(options: argparse.Namespace) -> int:
    """Run or resume the test and return the exit code."""
    refuse_empty(options)
    if options.all:
        from harness.kinds.trust.overview import write_overview  # deferred: it reads all runs

        return write_overview(options.reports)
    followed = watcher_options(options, "the whole trust test")
    request = resolve_request(options)
    record = _record(options, request)
    runs, pages = trust_runs(record, request), partial(publish, options=options)
    if not options.resume:  # the stored test has its starts
        run_s = (runs.extremes[0].duration_s or 0.0) + Experiments(TrustRecord, options.reports).guess_s(record.plan)
        record = replace(record, starts=starts_within(record.budget_s, run_s, runs.warm_up.starting_s(request)))
    return run_warm(options, record, runs, TrustTest, followed.open, pages)


def _record(options: argparse.Namespace, request: Request) -> TrustRecord:
    """Return the record of a new test, without a name and the number of its starts."""
    detect_ratio = units.parse_percent_ratio(options.detect, "--detect")
    if not 0 < detect_ratio <= _DETECT_MOST:
        raise UsageError(f"--detect={options.detect}: must be above 0 and at most 100%", "give a change such as 5%")
    load = parse_load(LoadArguments(**{name: getattr(options, name) for name in LENGTH}))
    if load.is_auto:
        raise UsageError("--duration=auto: the runs would have different lengths", "give a time, such as --duration=60")
    if load.users and load.rate_per_s:
        raise UsageError(f"--users={options.users} and --rate={options.rate}: a trust test has one of them", "give one")
    return TrustRecord(
        **new_fields(options, request),
        plan=request.plan.name,
        runs=(),
        profile=request.profile.name,
        users=1 if load.rate_per_s else load.users or default_users(request),
        starts=0,
        ramp_s=load.ramp_s,
        duration_s=load.duration_s,
        target=request.target.url if request.target else None,
        requests=load.requests,
        given={"set": options.set} if options.set else {},
        rate_per_s=load.rate_per_s,
        detect_ratio=detect_ratio,
        thresholds=request.plan.thresholds,
    )


def written(files: ExperimentFiles, options: argparse.Namespace) -> Written:
    """Write the report of a stored experiment again, and return what is said about it."""
    from harness.kinds.trust.outcome import headline
    from harness.kinds.trust.steps import StoredTrust

    outcome = rewritten(StoredTrust(files), Experiments(TrustRecord, options.reports))
    return Written((headline(outcome),), outcome.exit_code)
