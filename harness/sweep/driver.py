"""Runs the levels of `scripts/sweep` and `scripts/capacity` one after the other, and resumes unfinished sweeps."""

from __future__ import annotations

import argparse
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from rich.console import Console

from harness.base import git, toolchain, units
from harness.base.errors import (
    EXIT_INTERRUPTED,
    EXIT_INVALID,
    EXIT_OK,
    HarnessError,
    InvalidRunError,
    StartError,
    UsageError,
)
from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.base.log import Log
from harness.base.open_files import allow_open_files
from harness.base.paths import shown
from harness.compare.result import RunResult
from harness.compare.sources import read_result
from harness.experiment.run_line import run_line
from harness.plan.spec import RunSpec
from harness.plan.stop import parse_stop
from harness.report.cloudwatch import metrics_after
from harness.report.files import write_report
from harness.report.watchers import Follow, Watchers
from harness.run.arguments import DEFAULT_PROFILE, names_of, refuse_empty
from harness.run.context import RunContext, ready_jmeter, warn_of, with_generators
from harness.run.directory import RunDirectory
from harness.run.other_runs import OtherRuns
from harness.run.preflight import check_request, log_warnings
from harness.run.record import FINISHED as RUN_FINISHED
from harness.run.recording import attach_to, check_recording, process_of
from harness.run.request import Names, Request
from harness.sweep.files import SweepFiles, find_sweep, find_unfinished, reserve_sweep
from harness.sweep.level_runner import Levels, level_load
from harness.sweep.record import FINISHED, RUNNING, SWEEP, Step, SweepRecord, SweepRun
from harness.sweep.swept_set import requests_of

# After so many INVALID runs in a row the sweep stops: the plan, the target or the machine needs attention.
_INVALID_IN_A_ROW = 3


@dataclass(frozen=True)
class Progress:
    """A running sweep: its record, the results of its runs, and the seconds of each run of this process."""

    record: SweepRecord
    results: tuple[RunResult, ...]
    took_s: tuple[float, ...] = ()


class Schedule(Protocol):
    """Decides which levels run, from the results so far."""

    def next_step(self, progress: Progress) -> Step | None:
        """Return the next step; None at the end."""

    def heading(self, progress: Progress, step: Step) -> str:
        """Return the message before the next run."""

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
    `record_of` gets the request of each level by its value, see `requests_of`. `after_report` receives the folder of
    reports and a message callback.
    """

    settings: Sequence[str]
    splits_set: bool
    record_of: Callable[[Mapping[str, Request]], SweepRecord]
    schedule_of: Callable[[SweepRecord, Request], Schedule]
    most_users_of: Callable[[SweepRecord], MostUsers]
    after_report: Callable[[Path, Log], object]


def run_sweep(options: argparse.Namespace, kind: SweepKind, follow: Follow) -> int:
    """Start or resume the requested sweep, run it until its end or an interruption, and return the exit code.

    `follow` provides what follows its runs while they last. UsageError for invalid options.
    """
    refuse_empty(options)
    with Interrupts() as interrupts, ExitStack() as stack:
        requested = _requested(options, kind)
        record, requests = requested.record, requested.requests
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
        files = requested.resumed
        if files is None and not options.new:
            files = find_unfinished(options.reports, record.plan, record.settings)
        watchers = stack.enter_context(follow(interrupts))
        guardian = stack.enter_context(Guardian())
        context = RunContext(jmeter, interrupts, Console(), guardian, watch=watchers.watch)
        warn_of(OtherRuns().new(), context.log)
        context = stack.enter_context(with_generators(request, options.keys, context))
        log_warnings(request, context.log)
        if files:
            stack.enter_context(files.locked())
            record = _resumed(files, context)
        else:
            files = reserve_sweep(options.reports, record.plan)
            stack.callback(files.discard)
            stack.enter_context(files.locked())
            record = replace(record, name=files.name)
        folder = stack.enter_context(_temporary_folder(context.guardian))
        sweep = _Sweep(record, requests, files, context, schedule, watchers)
        failure = sweep.run(folder, most_users.warm_up)
        sweep.fetch_metrics()
        if options.jfr:
            sweep.attach(options.jfr)
        with interrupts.deferred():
            code = sweep.close(sure=options.sure, after_report=kind.after_report)
        if failure:
            raise failure
        if code is None:
            raise KeyboardInterrupt
        return code


class _Sweep:
    """A running sweep: its record, and the results of its runs."""

    def __init__(
        self,
        record: SweepRecord,
        requests: Mapping[str, Request],
        files: SweepFiles,
        context: RunContext,
        schedule: Schedule,
        watchers: Watchers,
    ) -> None:
        self._progress = Progress(record, tuple(read_result(files.run(run.run).path) for run in record.runs))
        self._requests = requests
        self._files = files
        self._context = context
        self._schedule = schedule
        self._watchers = watchers
        self._broken_in_a_row = 0

    def run(self, folder: Path, warm_up_users: int) -> HarnessError | None:
        """Run the remaining steps; return the error that stopped the sweep, None at its end or after Ctrl-C."""
        try:
            with Levels(self._requests, self._files, self._context, folder, warm_up_users) as levels:
                while not self._record.stop_reason and not self._context.interrupts.count:
                    step = self._schedule.next_step(self._progress)
                    if step is None:
                        self._write(replace(self._record, state=FINISHED))
                        break
                    heading = self._schedule.heading(self._progress, step)
                    self._context.log(heading)
                    self._watchers.announce(heading)
                    self._measure(levels, step)
        except KeyboardInterrupt:
            return None
        except (StartError, InvalidRunError) as error:
            return error
        return None

    def fetch_metrics(self) -> None:
        """Fetch the cloud metrics of the runs if the profile names any; Ctrl-C skips this."""
        record, spec = self._record, next(iter(self._requests.values())).profile.cloudwatch
        if spec and record.runs:
            metrics_after(record.id, spec, [self._files.run(run.run) for run in record.runs], self._context.log)

    def attach(self, recording: Path) -> None:
        """Add to each run its part of the flight recording of a JVM elsewhere, and write its report again."""
        record, directories = self._record, [self._files.run(run.run) for run in self._record.runs]
        if not directories:
            return
        with self._context.interrupts.deferred():
            whys = attach_to(directories, recording, process_of(recording), self._context.guardian.environment)
            for directory in directories:
                write_report(directory)
        if why := next(filter(None, whys), ""):
            runs = f"{record.plan}/run-{record.series}_*"
            command = [shown(toolchain.ROOT / "aggregate.py"), "heap", shown(recording), "--run", runs]
            self._context.log(f"JFR={shown(recording)}: {why}; attach it later: {shlex.join(command)}")

    def close(self, *, sure: bool, after_report: Callable[[Path, Log], object]) -> int | None:
        """Write the report, log the result and return the exit code; None when no run was started.

        With `sure`, a DOUBTFUL run is treated as a run without a usable result.
        """
        record, log = self._record, self._context.log
        if not self._files.record.is_file():
            return None
        if record.runs:
            # Imported here, because NumPy loads slowly and no run needs it.
            from harness.sweep.sources import write_sweep_report
            from harness.sweep.text import answer_text

            written = write_sweep_report(self._files.record)
            after_report(self._files.record.parent.parent, log)
            log("\n" + self._schedule.closing(self._progress))
            if record.kind == SWEEP:
                log(f"\n{record.id}: {answer_text(written.sweep, written.analysis)}")
        if record.state != FINISHED:
            why = record.stop_reason or "not finished"
            log(f"\n{record.id}: {why}; resume it with: make {record.kind} PLAN={record.plan} RESUME={record.series}")
        if record.runs:
            log(f"\nreport: {shown(self._files.report)}")
        if record.state != FINISHED and not record.stop_reason:
            return EXIT_INTERRUPTED
        results = self._progress.results
        has_broken = any(self._schedule.is_broken(result) or (sure and result.is_doubtful) for result in results)
        return EXIT_INVALID if has_broken else EXIT_OK

    @property
    def _record(self) -> SweepRecord:
        return self._progress.record

    def _measure(self, levels: Levels, step: Step) -> None:
        since_s = time.monotonic()

        def began(directory: RunDirectory, spec: RunSpec) -> None:
            nonlocal since_s
            if not self._record.fresh:  # the system starts once, before the first level
                since_s = time.monotonic()
            self._write(
                replace(self._record, under_way=SweepRun(step.users, step.repeat, directory.name, step.setting))
            )
            self._watchers.begin(directory, spec)

        run = levels.measure(self._record, step, began)
        with self._context.interrupts.deferred():
            self._watchers.finish()
            summary = write_report(run.directory)
            self._watchers.end(summary, shown(run.directory.report))
            result = RunResult.of(summary)
            record = replace(self._record, under_way=None)
            done = SweepRun(step.users, step.repeat, run.directory.name, step.setting)
            if run.record.interrupted:
                self._write(replace(record, broken_off=(*record.broken_off, done)))
            else:
                took_s = time.monotonic() - since_s
                results = (*self._progress.results, result)
                self._progress = replace(self._progress, results=results, took_s=(*self._progress.took_s, took_s))
                self._write(replace(record, runs=(*record.runs, done), stop_reason=self._stop_reason(result)))
        self._context.log(f"  {run_line(result)}")
        self._watchers.conclude(run_line(result))

    def _stop_reason(self, result: RunResult) -> str:
        """Return why the sweep stops after this run; an empty text when it continues."""
        self._broken_in_a_row = self._broken_in_a_row + 1 if self._schedule.is_broken(result) else 0
        if self._broken_in_a_row < _INVALID_IN_A_ROW:
            return ""
        why = result.verdict.reasons[0] if result.verdict and result.verdict.reasons else "of an unknown reason"
        return f"stopped after {_INVALID_IN_A_ROW} INVALID runs in a row, the last one because {why}"

    def _write(self, record: SweepRecord) -> None:
        self._files.write(record)
        self._progress = replace(self._progress, record=record)


@dataclass(frozen=True)
class _RequestedSweep:
    """The sweep of a command: the files of the one that RESUME names (None for a new sweep), the record, and the
    request of each level by its value of the swept setting, see `requests_of`.
    """

    resumed: SweepFiles | None
    record: SweepRecord
    requests: Mapping[str, Request]


def _requested(options: argparse.Namespace, kind: SweepKind) -> _RequestedSweep:
    """Return the requested sweep. UsageError for invalid options, or when RESUME names no sweep."""
    resumed = _sweep_to_resume(options, kind.settings)
    if resumed:
        record = resumed.read()
        names = Names(record.plan, record.profile, record.target, options.port, record.remotes)
        names = replace(names, set_values=record.set_values, is_profiled=record.is_profiled)
        requests = requests_of(names, options.home, options.build, is_split=bool(record.values))
    else:
        requests = requests_of(names_of(options), options.home, options.build, is_split=kind.splits_set)
        record = kind.record_of(requests)
    with_conditions = {setting: _with_conditions(request, record) for setting, request in requests.items()}
    return _RequestedSweep(resumed, record, with_conditions)


def _with_conditions(request: Request, record: SweepRecord) -> Request:
    """Return the request with the goal and the stop conditions of a sweep, where it has its own."""
    plan = replace(request.plan, goal=record.goal) if record.goal else request.plan
    if record.stop:
        plan = replace(plan, stop=parse_stop(record.stop))
    return replace(request, plan=plan)


def _sweep_to_resume(options: argparse.Namespace, settings: Sequence[str]) -> SweepFiles | None:
    """Return the sweep that RESUME names, or None without RESUME. UsageError when other settings are given, too."""
    if not options.resume:
        return None
    given = [name for name in settings if getattr(options, name)]
    if options.env != DEFAULT_PROFILE:
        given.append("env")
    if given:
        raise UsageError(
            f"RESUME={options.resume} uses the settings of that sweep", f"leave out {', '.join(given).upper()}"
        )
    plan, slash, _ = options.resume.partition("/")
    return find_sweep(options.reports, plan if slash else options.plan, options.resume)


def _resumed(files: SweepFiles, context: RunContext) -> SweepRecord:
    """Return the record of an unfinished sweep after a comparison with its runs.

    The current run of a killed harness becomes completed or interrupted. Removed runs are measured again.
    """
    record = replace(files.read(), stop_reason="")
    there = tuple(run for run in record.runs if files.run(run.run).is_there)
    if there != record.runs:
        record = replace(record, runs=there, state=RUNNING)
        files.write(record)
    if record.under_way:
        left, directory = record.under_way, files.run(record.under_way.run)
        run = directory.read_run()
        record = replace(record, under_way=None)
        if run:
            write_report(directory)
            is_whole = run.state == RUN_FINISHED and not run.interrupted
            runs = (*record.runs, left) if is_whole else record.runs
            broken_off = record.broken_off if is_whole else (*record.broken_off, left)
            record = replace(record, runs=runs, broken_off=broken_off)
        files.write(record)
    if record.state == FINISHED:
        context.log(f"{record.id}: already finished; its report is written again")
        return record
    measured = units.plural(len(record.runs), "run")
    context.log(f"{record.id}: resumed after {measured} (NEW=1 starts another sweep)")
    commit = git.facts(toolchain.ROOT).commit
    if commit != record.git_commit:
        context.log(f"{record.id}: started at commit {(record.git_commit or '?')[:10]}, now at {(commit or '?')[:10]}")
    return record


@contextmanager
def _temporary_folder(guardian: Guardian) -> Iterator[Path]:
    """Yield a folder that is removed at the end, also when the harness is killed."""
    folder = Path(tempfile.mkdtemp(prefix="sweep-"))
    guardian.remove_at_end(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
