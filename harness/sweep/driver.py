"""Runs the levels of `scripts/sweep` and `scripts/capacity` one after the other, and resumes unfinished sweeps."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from rich.console import Console

from harness.base import git, toolchain, units
from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, InvalidRunError, StartError, UsageError
from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.base.open_files import allow_open_files
from harness.base.paths import shown, tool_command
from harness.base.project import DEFAULT_PROFILE, current_project
from harness.compare.result import RunResult
from harness.compare.sources import read_result
from harness.experiment.execute import InProcess, Step
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.record import ENDED, FINISHED, RUNNING, measured
from harness.experiment.runner import Design, Runner
from harness.plan.stop import parse_stop
from harness.report.cloudwatch import metrics_after
from harness.report.files import write_report
from harness.report.watchers import Follow
from harness.run.arguments import names_of, refuse_empty
from harness.run.context import RunContext, ready_jmeter, warn_of, with_generators
from harness.run.directory import RunDirectory
from harness.run.other_runs import OtherRuns
from harness.run.preflight import check_request, log_warnings
from harness.run.record import FINISHED as RUN_FINISHED
from harness.run.recording import attach_to, check_recording, process_of
from harness.run.request import Names, Request
from harness.sweep.files import find_sweep
from harness.sweep.level_runner import Levels, level_load
from harness.sweep.record import SWEEP, SweepRecord, SweepRun, SweepStep
from harness.sweep.swept_set import requests_of

# After so many INVALID runs in a row the sweep stops: the plan, the target or the machine needs attention.
_INVALID_IN_A_ROW = 3
# JMeter's start, its last samples and the report.
_FIRST_GUESS_S = 8.0
_START_S = 20.0


@dataclass(frozen=True)
class Progress:
    """A sweep so far: its record, and the results of its completed runs."""

    record: SweepRecord
    results: tuple[RunResult, ...]

    @property
    def is_decided(self) -> bool:
        """Never, before the last level: the schedule decides."""
        return False


class Schedule(Protocol):
    """Decides which levels run, from the results so far."""

    def next_step(self, progress: Progress) -> SweepStep | None:
        """Return the next step; None at the end."""

    def heading(self, progress: Progress, step: SweepStep) -> str:
        """Return the message before the next run."""

    def planned_s(self, step: SweepStep) -> float | None:
        """Return the planned duration of a step's load, s; None when it is not known."""

    def left_s(self, progress: Progress) -> Sequence[float | None]:
        """Return those of all steps that are left; empty when their number is not known."""

    def is_broken(self, result: RunResult) -> bool:
        """Return whether a run has no usable result."""

    def closing(self, progress: Progress) -> str:
        """Return the message at the end."""


@dataclass(frozen=True)
class MostUsers:
    """The maximum users of a level, and the users of the warm-up."""

    levels: int
    warm_up: int


@dataclass(frozen=True)
class SweepKind:
    """The differences between a sweep and a capacity search.

    RESUME excludes the options in `settings`. With `splits_set` several values of a setting in SET are levels;
    `record_of` gets the request of each level by its value, see `requests_of`.
    """

    settings: Sequence[str]
    splits_set: bool
    record_of: Callable[[Mapping[str, Request]], SweepRecord]
    schedule_of: Callable[[SweepRecord, Request], Schedule]
    most_users_of: Callable[[SweepRecord], MostUsers]


def run_sweep(options: argparse.Namespace, kind: SweepKind, follow: Follow) -> int:
    """Start or resume the requested sweep, run it until its end or an interruption, and return the exit code.

    `follow` provides what follows its runs while they last. UsageError for invalid options.
    """
    refuse_empty(options)
    with Interrupts() as interrupts, ExitStack() as stack:
        named, record, requests = _requested(options, kind)
        request = next(iter(requests.values()))
        most_users = kind.most_users_of(record)
        for one in requests.values():
            check_recording(options.jfr, one)
            for users in (most_users.levels, most_users.warm_up):
                check_request(one, level_load(one, record, users))
        schedule = kind.schedule_of(record, request)
        allow_open_files(most_users.levels)
        jmeter = ready_jmeter(request, options.reports)
        if request.is_profiled:
            toolchain.ensure_profiler()
        sweeps = Experiments(SweepRecord, options.reports)
        files = named or (None if options.new else sweeps.unfinished(record))
        watchers = stack.enter_context(follow(interrupts))
        guardian = stack.enter_context(Guardian())
        context = RunContext(jmeter, interrupts, Console(), guardian, watch=watchers.watch)
        warn_of(OtherRuns().new(), context.log)
        context = stack.enter_context(with_generators(request, options.keys, context))
        log_warnings(request, context.log)
        if files:
            stack.enter_context(files.locked())
            record = _resumed(sweeps, files, context)
        else:
            files = sweeps.reserve(record.plan)
            stack.callback(files.discard)
            stack.enter_context(files.locked())
            record = replace(record, name=files.name)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sweep-", ignore_cleanup_errors=True))
        guardian.remove_at_end(Path(folder))
        sweep, failure = _Sweep(files, schedule), None
        levels = Levels(requests, files, context, Path(folder), most_users.warm_up)
        execute = InProcess(context, watchers, partial(levels.measured, record))
        results = {run.name: read_result(files.run(run.name).path) for run in record.measured}
        guess_s = _FIRST_GUESS_S + (starting_s(record) if record.fresh else 0.0)
        runner = Runner(sweep, record, results, execute, guess_s)
        try:
            with levels:
                runner.run()
        except (StartError, InvalidRunError) as error:
            failure = error
        code = _closed(sweep, runner.outcome, requests, options, context)
        if failure:
            raise failure
        if code is None:
            raise KeyboardInterrupt
        return code


def _closed(
    sweep: _Sweep,
    outcome: Progress,
    requests: Mapping[str, Request],
    options: argparse.Namespace,
    context: RunContext,
) -> int | None:
    """Add what is known after the last run, log the result and return the exit code; None when no run was started.

    With --sure, a DOUBTFUL run is treated as a run without a usable result.
    """
    record, spec = outcome.record, next(iter(requests.values())).profile.cloudwatch
    directories = [sweep.files.run(run.name) for run in record.measured]
    if directories and spec:
        metrics_after(record.id, spec, directories, context.log)  # Ctrl-C skips this
    if directories and options.jfr:
        _attach(directories, record, options.jfr, context)
    with context.interrupts.deferred():
        if directories and (spec or options.jfr):
            sweep.write_page(outcome)
        if not sweep.files.record.is_file():
            return None
        log, is_broken = context.log, sweep.schedule.is_broken
        if outcome.results:
            log("\n" + sweep.schedule.closing(outcome))
            if record.kind == SWEEP:
                log(f"\n{record.id}: {sweep.answer}")
        if record.state != FINISHED:
            why = record.stop_reason or "not finished"
            log(f"\n{record.id}: {why}; resume it with: make {record.kind} PLAN={record.plan} {record.resumption}")
        if outcome.results:
            log(f"\nreport: {shown(sweep.files.report)}")
        if record.state != FINISHED and not record.stop_reason:
            return EXIT_INTERRUPTED
        has_broken = any(is_broken(one) or (options.sure and one.is_doubtful) for one in outcome.results)
        return EXIT_INVALID if has_broken else EXIT_OK


def starting_s(record: SweepRecord) -> float:
    """Return about how long the start of the system and its warm-up take."""
    return record.warm_up_s + (0.0 if record.target else _START_S)


@dataclass
class _Sweep(Design[SweepRecord, Progress]):
    """A sweep with its files; its schedule decides which levels run. `answer` is that of its last page."""

    files: ExperimentFiles
    schedule: Schedule
    answer: str = ""

    def judge(self, record: SweepRecord, results: Mapping[str, RunResult]) -> Progress:
        """Return the sweep so far."""
        return Progress(record, tuple(results[run.name] for run in record.measured))

    def store(self, outcome: Progress) -> None:
        """Write the record as soon as a run began."""
        if outcome.record.runs:
            self.files.write(outcome.record)

    def write_page(self, outcome: Progress) -> None:
        """Write report and charts of the completed runs."""
        if outcome.results:
            # Imported here, because NumPy loads slowly and no run needs it.
            from harness.sweep.sources import write_sweep_report

            self.answer = write_sweep_report(self.files.record)

    def next_step(self, outcome: Progress) -> Step | None:
        """Return the next level."""
        step = self.schedule.next_step(outcome)
        if step is None:
            return None
        planned_s, left_s = self.schedule.planned_s(step), list(self.schedule.left_s(outcome))
        record = outcome.record
        if left_s and left_s[0] is not None and not record.fresh and len(record.measured) == record.resumed_at:
            left_s[0] += starting_s(record)
        return Step(
            run=SweepRun(step.users, step.repeat, step.setting, planned_s),
            heading=self.schedule.heading(outcome, step),
            planned_s=(),
            left_s=left_s,
        )

    def obstacle(self, outcome: Progress) -> str:
        """Return why the sweep stops after this run; an empty text when it continues."""
        last = outcome.results[outcome.record.resumed_at :][-_INVALID_IN_A_ROW:]
        if len(last) < _INVALID_IN_A_ROW or not all(map(self.schedule.is_broken, last)):
            return ""
        verdict = last[-1].verdict
        why = verdict.reasons[0] if verdict and verdict.reasons else "of an unknown reason"
        return f"stopped after {_INVALID_IN_A_ROW} INVALID runs in a row, the last one because {why}"


def _attach(directories: Sequence[RunDirectory], record: SweepRecord, recording: Path, context: RunContext) -> None:
    """Add to each run its part of the flight recording of a JVM elsewhere, and write its report again."""
    with context.interrupts.deferred():
        whys = attach_to(directories, recording, process_of(recording), context.guardian.environment)
        for directory in directories:
            write_report(directory)
    if why := next(filter(None, whys), ""):
        runs = f"{record.plan}/run-{record.series}_*"
        command = tool_command("heap", shown(recording), "--run", runs)
        context.log(f"JFR={shown(recording)}: {why}; attach it later: {command}")


def _requested(
    options: argparse.Namespace, kind: SweepKind
) -> tuple[ExperimentFiles | None, SweepRecord, Mapping[str, Request]]:
    """Return the files of the sweep that RESUME names (None for a new sweep), the record, and the request of each level
    by its value of the swept setting, see `requests_of`. UsageError for invalid options, or without such a sweep.
    """
    resumed = _sweep_to_resume(options, kind.settings)
    if resumed:
        record = Experiments(SweepRecord, options.reports).read(resumed)
        names = Names(record.plan, record.profile, record.target, options.port, record.remotes)
        names = replace(names, set_values=record.set_values, is_profiled=record.is_profiled)
        requests = requests_of(names, options.home, options.build, is_split=bool(record.values))
    else:
        requests = requests_of(names_of(options), options.home, options.build, is_split=kind.splits_set)
        record = kind.record_of(requests)
    return resumed, record, {setting: _with_conditions(request, record) for setting, request in requests.items()}


def _with_conditions(request: Request, record: SweepRecord) -> Request:
    """Return the request with the goal and the stop conditions of a sweep, where it has its own."""
    plan = replace(request.plan, goal=record.goal) if record.goal else request.plan
    if record.stop:
        plan = replace(plan, stop=parse_stop(record.stop))
    return replace(request, plan=plan)


def _sweep_to_resume(options: argparse.Namespace, settings: Sequence[str]) -> ExperimentFiles | None:
    """Return the sweep that RESUME names, or None without RESUME. UsageError when other settings are given, too."""
    if not options.resume:
        return None
    given = [name for name in settings if getattr(options, name)]
    if options.env != DEFAULT_PROFILE:
        given.append("env")
    if given:
        what = f"RESUME={options.resume} uses the settings of that sweep"
        raise UsageError(what, f"leave out {', '.join(given).upper()}")
    plan, slash, _ = options.resume.partition("/")
    return find_sweep(options.reports, plan if slash else options.plan, options.resume)


def _resumed(sweeps: Experiments[SweepRecord], files: ExperimentFiles, context: RunContext) -> SweepRecord:
    """Return the record of an unfinished sweep after a comparison with its runs.

    The current run of a killed harness becomes completed or interrupted. Removed runs are measured again.
    """
    stored = sweeps.read(files)
    runs: list[SweepRun] = []
    for run in stored.runs:
        directory = files.run(run.name)
        if not directory.is_there:
            continue
        left = directory.read_run() if run.state != ENDED else None
        if left:
            write_report(directory)
            is_whole = left.state == RUN_FINISHED and not left.interrupted
            run = replace(run, state=ENDED if is_whole else run.state)
        runs.append(run)
    is_whole = stored.measured == measured(runs) and stored.state == FINISHED
    state = FINISHED if is_whole else RUNNING
    record = replace(stored, runs=tuple(runs), stop_reason="", state=state, resumed_at=len(measured(runs)))
    if is_whole:
        context.log(f"{record.id}: already finished; its report is written again")
        return record
    context.log(f"{record.id}: resumed after {units.plural(len(record.measured), 'run')} (NEW=1 starts another sweep)")
    commit = git.facts(current_project().folder).commit
    if commit != record.git_commit:
        context.log(f"{record.id}: started at commit {(record.git_commit or '?')[:10]}, now at {(commit or '?')[:10]}")
    return record
