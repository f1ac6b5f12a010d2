"""`lth run`: run one load test against a system or a target, and write its run directory and report."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from harness.base import units
from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, HarnessError, InvalidRunError, UsageError
from harness.base.guardian import Guardian
from harness.base.install.toolchain import ensure_profiler
from harness.base.interrupts import Interrupts
from harness.base.log import Log, log
from harness.base.open_files import allow_open_files
from harness.base.paths import shown
from harness.base.project import current_project
from harness.cli.options import FOLDERS, FOLLOWED, PUBLISHED, of_runs, take, take_argument
from harness.history.catalogue import Entry
from harness.history.files import entries_of
from harness.history.references import (
    NO_REFERENCES,
    Reference,
    References,
    compared_with,
    previous_run,
    references_before,
)
from harness.judge.stored_comparisons import ComparedRun
from harness.judge.summary import RunSummary
from harness.judge.verdict import headline
from harness.kinds.overload.levels import load_of
from harness.live.watchers import watcher_options
from harness.plan import spec as specs
from harness.plan.division import check_users, part_of
from harness.plan.goal_input import resolve_goal
from harness.plan.job import latest_end_s
from harness.plan.load.model import Load, LoadArguments, OpenLoad, Part, load_record, parse_load, resolve_load
from harness.plan.spec import RunSpec
from harness.plan.stop import parse_stop
from harness.report.cloudwatch import metrics_after
from harness.report.files import add_comparisons, summary_of_run, write_report
from harness.report.screen import show_closing, show_interim
from harness.report.setup import load_text
from harness.run.arguments import SOAK_DURATION, command_of, goal_arguments, refuse_empty
from harness.run.context import RunContext, fetched_runs, ready_jmeter, warn_of, with_parts
from harness.run.directory import RunDirectory, reserve
from harness.run.measure import measure_with_system
from harness.run.other_runs import OtherRuns
from harness.run.parts.share import check_places, check_start, part_arguments
from harness.run.preflight import check_request, log_warnings
from harness.run.request import Request, resolve_request
from harness.run.result_file import ResultFile
from harness.run.telemetry.recording import attach, check_recording, process_of
from harness.storage.after_run import PushOutcome, push_after_run, storage_for_run

# A comparison of so many labels takes seconds.
_MANY_LABELS = 500
_EPILOG = """\
examples:
  lth run killbill-stripe --users 50
  lth run killbill-stripe --users 100 --ramp 20 --duration 10m --series 7
  lth run killbill-stripe --duration auto --max 5m                     (until steady state and a mean within 5 %)
  lth run killbill-stripe --set 'killbill.plugin_threads=10 authorize_amount=25'
  lth run killbill-stripe --rate 20 --duration 5m                     (open model: 20 new users per second)
  lth run killbill-stripe --target http://127.0.0.1:8080              (a system that already runs)
  lth run https://127.0.0.1:8443/items -H 'Authorization: Bearer $TOKEN' -u 20 -d 1m     (no plan, one request)
  lth run --curl "curl -X POST …"                                     (as a browser copies it)
  lth run --env staging --target http://10.0.0.5:8080                 (needs allowed_targets in env/staging.toml)
  lth run --env staging --target http://10.0.0.5:8080 --jfr shop.jfr        (its heap, pauses and CPU)
  lth run killbill-stripe --goal 'p95<1500, errors<1%, Capture.*: p99<3s, throughput>20/s'
  lth run killbill-stripe --stop 'errors>50% for 10s, p90>5s for 30s, throughput<1/s for 1m'
  lth run killbill-stripe --target http://10.0.0.5:8080 --on ssh:gen1,gen2
  lth run killbill-stripe --duration 10m --live 1                     (a page with the current values)
  lth run killbill-stripe --duration 10m --metrics 1                  (for Prometheus: http://127.0.0.1:9464/metrics)
  lth run killbill-stripe --users 50 --base run-07_1                 (its report compares it with run-07_1)
  lth run killbill-stripe --users 50 --soak --duration 12h              (looks for leaks; lth help soak.md)

Without a goal for errors at most 1 % of the samples may fail; error_ratio = 1 in the plan's [goal], or --errors=100%,
lifts that.

exit codes: 0 success; 1 the run missed a goal or was stopped early; 2 wrong use, nothing was measured; 3 the run is
INVALID, with --sure also DOUBTFUL, or could not be uploaded; 70 an error of the harness itself; 130 interrupted.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `lth run`."""
    parser.description = "Run one load test with JMeter and write reports/<plan>/run-<series>_<n> with its report."
    parser.epilog = _EPILOG
    take(
        parser, f"{of_runs()} max sure compare series note {PUBLISHED} start-at {FOLLOWED} s3 {FOLDERS} result overload"
    )
    take_argument(parser, "plan/address", "?")


def resolve(options: argparse.Namespace, request: Request) -> RunSpec:
    """Return the validated spec of the options; UsageError when they contradict each other."""
    if options.overload:
        capacity_per_s, level_s, command = options.overload.split(",", 2)
        load: Load = load_of(request.plan.load, float(capacity_per_s), int(level_s))
    else:
        load, command = _load(options, request), str(command_of(options, request.hidden, request.properties))
    check_users(load, len(request.places))
    load = part_of(load, request.part) if request.part else load
    series = specs.parse_series(options.series) if options.series else None
    spec = request.run_spec(load, note=options.note, command=command, series=series)
    return replace(spec, start_at=options.start_at or "")


def _load(options: argparse.Namespace, request: Request) -> Load:
    """Return the load of the options."""
    arguments = LoadArguments(
        users=options.users,
        ramp=options.ramp,
        duration=_duration(options),
        loops=options.loops,
        rate=options.rate,
        requests=options.requests,
        most=options.max,
    )
    return resolve_load(parse_load(arguments), request.plan.load)


def _duration(options: argparse.Namespace) -> str | None:
    """Return the text of the duration; a soak without any length has its own."""
    is_open_ended = options.soak and not (options.loops or options.requests)
    return options.duration or (SOAK_DURATION if is_open_ended else None)


def run(options: argparse.Namespace) -> int:
    """Run the load test and return the exit code."""
    with ResultFile(options.result) as result:
        return _run(options, result)


def _run(options: argparse.Namespace, result: ResultFile) -> int:
    refuse_empty(options)
    followed = watcher_options(options)
    request = _request(options)
    spec = resolve(options, request)
    check_request(request, spec.load)
    check_recording(options.jfr, request)
    _log_proposal(options, spec)
    references = _references(options, spec)
    if not isinstance(spec.load, OpenLoad):
        allow_open_files(spec.load.users or 0)
    with Interrupts() as interrupts, followed.open(interrupts) as watchers, ExitStack() as stack:
        jmeter = ready_jmeter(request, options.reports)
        if request.is_profiled:
            ensure_profiler()
        storage = storage_for_run(options.s3, request.profile)
        console, guardian = Console(), stack.enter_context(Guardian())
        interim = partial(show_interim, console)
        context = RunContext(jmeter, interrupts, console, guardian, interim, watchers.watch)
        warn_of(OtherRuns().new(), context.log)
        arguments = _part_arguments(options, request)
        for left in fetched_runs(request, spec, options.reports / spec.plan.name, arguments, context):
            show_closing(context.console, write_report(left), shown(left.report), "")
        longest_s = spec.load.duration_s and max(spec.load.duration_s, latest_end_s(spec.plan.jobs))
        context = stack.enter_context(with_parts(request, longest_s, context))
        if context.parts:
            context.parts.take(request, arguments)
        log_warnings(request, context.log)
        directory = reserve(options.reports, spec.plan.name, spec.series)
        result.begin(directory)
        watchers.begin(directory, spec)
        try:
            _measure(spec, request, directory, context)
        finally:
            if not directory.run_json.is_file():
                directory.discard()  # nothing was measured, and an empty run directory would mislead
        with interrupts.deferred():
            stack.close()
            _attach_recording(options, directory, context)
            watchers.finish()
            if request.part:
                return _end_of_part(request.part, directory, context, result)
            summary = reported(directory, context.log)
            identity = f"{directory.plan}/{directory.name}"
            previous = _previous(directory, context)
            chosen = references.after(previous, options.reports)
            compared = _compared(summary, directory.effective_plan, chosen, options.reports, spec, context)
            summary = add_comparisons(directory, summary, compared)
        if spec.profile.cloudwatch:
            metrics_after(identity, [directory], context.log)
        baseline = next((one.name for one in compared if one.link), previous.id if previous else "")
        to_compare = compare_command(baseline, identity, options.reports) if baseline else ""
        show_closing(context.console, summary, shown(directory.report), to_compare)
        _write_besides(options, directory, context)
        watchers.end(summary, shown(directory.report))
        code = summary.verdict.exit_code_if(sure=options.sure)
        pushed = push_after_run(directory, storage, code, context.log) if storage else PushOutcome(code)
        result.end(summary.verdict.state, summary.verdict.reasons, pushed.exit_code, pushed.problem)
        return pushed.exit_code


def _request(options: argparse.Namespace) -> Request:
    """Return the request with the goal and the stop conditions of the command line."""
    request = resolve_request(options)
    goal = resolve_goal(goal_arguments(options), request.plan.goal)
    stop = parse_stop(options.stop) if options.stop else request.plan.stop
    _check_parts(options, request)
    stop = () if request.part else stop  # only the whole run can be judged
    return replace(request, plan=replace(request.plan, goal=goal, stop=stop))


def _check_parts(options: argparse.Namespace, request: Request) -> None:
    """Raise UsageError for what the parts of a run cannot have."""
    check_start(options.start_at or "")
    if options.start_at and not request.part:
        what = f"--start-at={options.start_at} is for a part of a run"
        raise UsageError(what, "give --part=1/2 as well, or leave it out: --on=local:2 starts all parts at once")
    check_places(request)


def _part_arguments(options: argparse.Namespace, request: Request) -> tuple[str, ...]:
    """Return the options of each part of a run, which takes its share of this load."""
    load = {"duration": _duration(options), "max": options.max, "overload": options.overload}
    return part_arguments(options, request, load)


def reported(directory: RunDirectory, log: Log) -> RunSummary:
    """Write the report; where that is impossible, at least the terminal gets the verdict."""
    try:
        return write_report(directory)
    except InvalidRunError:
        with contextlib.suppress(HarnessError):
            log(f"{directory.plan}/{directory.name}: {headline(summary_of_run(directory).verdict)}")
        raise


def _end_of_part(part: Part, directory: RunDirectory, context: RunContext, result: ResultFile) -> int:
    """Print where the samples of a part are, and return its exit code: only the whole run has a verdict."""
    record = directory.read_run()
    assert record is not None  # it was measured
    context.log(
        f"part {part}: {shown(directory.path)}; merge all parts: {shlex.join(['lth', 'report', '--merge', '…'])}"
    )
    for reason in record.stop_reasons:
        context.log(reason)
    code = EXIT_INVALID if record.stop_reasons else EXIT_INTERRUPTED if record.interrupted else EXIT_OK
    result.end("", record.stop_reasons, code)
    return code


def _compared(
    summary: RunSummary, jmx: Path, chosen: Sequence[Reference], reports: Path, spec: RunSpec, context: RunContext
) -> tuple[ComparedRun, ...]:
    """Return the comparison of the finished run with each of its references."""
    if not chosen:
        return ()
    from harness.report.run_result import RunResult  # imported late: a run without references needs no comparison

    contender = replace(RunResult.of(summary), jmx=str(jmx))
    if len(contender.labels) >= _MANY_LABELS:
        context.log(f"comparing {units.plural(len(contender.labels), 'label')} with those of earlier runs")
    return compared_with(chosen, contender, spec.plan.thresholds, reports)


def _log_proposal(options: argparse.Namespace, spec: RunSpec) -> None:
    """Print for --duration=auto, whose mean is precise, what the newest trust test says of comparisons of such runs."""
    load = load_record(spec.load, spec.plan.load)
    if load.is_auto:
        from harness.kinds.trust.known import known, known_text  # deferred: it loads NumPy

        found = known(options.reports, spec.plan.name, load, spec.profile.name)
        log(f"--duration=auto makes the mean of this run precise. To compare runs: {known_text(found, spec.plan.name)}")


def _references(options: argparse.Namespace, spec: RunSpec) -> References:
    """Return what the run will be compared with; UsageError for a BASE that cannot be compared with it."""
    if options.compare == "0":
        if options.base:
            raise UsageError("--base and --compare 0 cannot be used together", "give one")
        return NO_REFERENCES
    return references_before(options.base, options.reports, spec.plan.name, load_record(spec.load, spec.plan.load))


def _attach_recording(options: argparse.Namespace, directory: RunDirectory, context: RunContext) -> None:
    """Attach the recording of JFR, if one was given; log what is not known, and the command that attaches it later."""
    if options.jfr and (why := attach(directory, options.jfr, process_of(options.jfr), {})):
        command = shlex.join(["lth", "heap", shown(options.jfr), "--run", shown(directory.path)])
        context.log(f"--jfr={shown(options.jfr)}: {why}; attach it later: {command}")


def compare_command(baseline: str, contender: str, reports: Path) -> str:
    """Return the command that compares two runs in `reports`, for the current working directory."""
    others = [] if reports == current_project().reports else [shown(reports)]
    return shlex.join(["lth", "compare", baseline, contender, *(word for one in others for word in ("--reports", one))])


def _measure(spec: RunSpec, request: Request, directory: RunDirectory, context: RunContext) -> None:
    """Print the load and measure the run."""
    context.log(f"{spec.plan.name}/{directory.name}: {load_text(load_record(spec.load, spec.plan.load))}")
    measure_with_system(spec, request, directory, context)


def _write_besides(options: argparse.Namespace, directory: RunDirectory, context: RunContext) -> None:
    """Write what --junit and --html ask for."""
    options.junit.add_report(directory.report)
    if options.html:
        from harness.site.files import try_report_page  # deferred: only --html needs the site

        try_report_page(directory.report, context.log)


def _previous(directory: RunDirectory, context: RunContext) -> Entry | None:
    """Return the run before the finished one, see `previous_run`."""
    try:
        return previous_run(entries_of(directory.path.parent), f"{directory.plan}/{directory.name}")
    except Exception as error:  # noqa: BLE001 - problems with files of other runs must not fail the run
        context.log(f"the previous run could not be found: {error}")
        return None
