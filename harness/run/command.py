"""`scripts/run`: run one load test against a system or a target, and write its run directory and report."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import replace

from rich.console import Console

from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.base.open_files import allow_open_files
from harness.base.secrets import mask_secrets
from harness.plan import spec as specs
from harness.plan.spec import ClosedLoad, RunSpec
from harness.report.cloudwatch import metrics_after
from harness.report.files import write_report
from harness.report.setup import load_text
from harness.report.terminal import closing_text
from harness.run.arguments import (
    Asked,
    add_goal,
    add_length,
    add_places,
    add_remotes,
    add_sure,
    add_traffic,
    asked_of,
    goal_of,
    make_command,
    refuse_empty,
)
from harness.run.directory import RunDirectory, reserve
from harness.run.measure import (
    Workplace,
    begin,
    generators_of,
    measure,
    ready_jmeter,
    shown,
    start,
    system_of,
    update_overview,
    warn_of,
)
from harness.run.other_runs import OtherRuns
from harness.run.preflight import check_asked, say_warnings
from harness.run.remote.load import check_users
from harness.storage.after_run import keep, place_to_keep
from harness.system.jfr import write_heap

_EPILOG = """\
examples:
  scripts/run --plan killbill-stripe --users 50
  scripts/run --plan killbill-stripe --users 100 --ramp 20 --duration 10m --series 7
  scripts/run --plan killbill-stripe --duration auto --max 5m          (until it is steady and the mean is exact to 5 %)
  scripts/run --plan killbill-stripe --rate 20 --duration 5m          (open model: 20 new users per second)
  scripts/run --plan killbill-stripe --target http://127.0.0.1:8080   (a system that already runs)
  scripts/run --env staging --target http://10.0.0.5:8080             (needs allowed_targets in env/staging.toml)
  scripts/run --plan killbill-stripe --target http://10.0.0.5:8080 --remotes 10.0.0.7:1099,10.0.0.8:1099

exit codes: 0 success; 1 the run missed a goal; 2 wrong use, nothing was measured; 3 the run is INVALID, with --sure
also DOUBTFUL, or could not be uploaded; 70 an error of the harness itself; 130 interrupted.
make returns 2 for every failure: call scripts/run where the exit code matters.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `scripts/run`."""
    parser.description = "Run one load test with JMeter and write reports/<plan>/run-<series>_<n> with its report."
    parser.epilog = _EPILOG
    add_traffic(parser)
    option = parser.add_argument
    option("--users", help="concurrent users, closed model (the plan's default)")
    option("--rate", help="new users per second, open model, instead of --users")
    add_length(parser)
    option("--max", help="with --duration auto: the longest duration (10m)")
    add_goal(parser)
    series = "series in the run's name: 7 gives run-07_1, run-07_2, … (the last series, or 01)"
    option("--series", help=series)
    add_remotes(parser)
    option("--s3", help="s3://bucket/prefix to which the finished run is uploaded (the profile's [storage])")
    add_sure(parser)
    add_places(parser)


def resolve(options: argparse.Namespace, asked: Asked) -> RunSpec:
    """Return the validated spec of the options; UsageError when they make no sense together."""
    arguments = specs.LoadArguments(
        options.users,
        options.ramp,
        options.duration,
        options.loops,
        options.rate,
        options.requests,
        options.max,
    )
    length = ("users", "rate", "ramp", "duration", "max", "loops", "requests")
    names = ("plan", *length, "p90", "average", "errors", "target", "remotes", "env")
    load = specs.resolve_load(arguments, asked.plan.load)
    check_users(load, asked.remotes)
    return RunSpec(
        plan=replace(asked.plan, goal=goal_of(options, asked.plan.goal)),
        profile=asked.profile,
        load=load,
        target=asked.target,
        series=specs.parse_series(options.series) if options.series else None,
        note=options.note,
        port=asked.port,
        secrets=asked.secrets,
        hidden=asked.hidden,
        command=make_command("run", {name: getattr(options, name) for name in names}),
    )


def run(options: argparse.Namespace) -> int:
    """Run the load test and return the exit code."""
    refuse_empty(options)
    asked = asked_of(
        options.home, options.build, options.plan, options.env, options.target, options.port, options.remotes
    )
    spec = resolve(options, asked)
    check_asked(asked, spec.load)
    if isinstance(spec.load, ClosedLoad):
        allow_open_files(spec.load.users)
    with Interrupts() as interrupts, ExitStack() as stack:
        jmeter = ready_jmeter(asked, options.reports)
        kept_in = place_to_keep(options.s3, asked.profile)
        place = Workplace(jmeter, interrupts, Console(), stack.enter_context(Guardian()))
        warn_of(OtherRuns().new(), place.say)
        place = stack.enter_context(generators_of(asked, options.keys, place))
        say_warnings(asked, place.say)
        directory = reserve(options.reports, spec.plan.name, spec.series)
        try:
            _measure(spec, asked, directory, place)
        finally:
            if not directory.run_json.is_file():
                directory.discard()  # nothing was measured: an empty run directory would only mislead
        with interrupts.held():
            stack.close()
            summary = write_report(directory)
            update_overview(options.reports, place.say)
        if spec.profile.cloudwatch:
            metrics_after(f"{directory.plan}/{directory.name}", [directory], place.say)
        place.say(closing_text(summary, shown(directory.report)))
        code = summary.verdict.exit_code_if(sure=options.sure)
        return keep(directory, kept_in, code, place.say) if kept_in else code


def _measure(spec: RunSpec, asked: Asked, directory: RunDirectory, place: Workplace) -> None:
    """Start the system unless there is a target, drive it and write run.json; everything started is stopped again."""
    place.say(
        f"{asked.plan.name}/{directory.name}: {load_text(specs.load_record(spec.load, asked.plan.load.think_time_s))}"
    )
    with ExitStack() as stack:
        # From the start on: the system logs into the directory, and the plan in it is not masked before the end.
        stack.enter_context(place.guardian.masking(directory.path, spec.hidden))
        system = None
        if asked.target is None:
            system = stack.enter_context(system_of(asked, directory.system_logs, place))
            start(system, directory.system_logs, asked, place.say)
        record = begin(spec, directory, system, place)
        with place.interrupts.held():
            record = measure(spec, directory, record, system, place)
            if system:
                recordings = system.recordings
                system.stop()  # a JVM writes its recording when it ends
                mask_secrets(directory.system_logs, spec.hidden)
                heap_unknown = write_heap(directory.heap, recordings, place.guardian.environment)
                directory.write_run(replace(record, heap_unknown=heap_unknown).to_json())
