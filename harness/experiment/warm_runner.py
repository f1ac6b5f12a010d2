"""Does many runs on one warm system: starts and warms it up once, or again before a run, and measures the levels."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Generic

from rich.console import Console

from harness.base.errors import StartError, UsageError
from harness.base.guardian import Guardian
from harness.base.install import toolchain
from harness.base.interrupts import Interrupts
from harness.base.open_files import allow_open_files
from harness.base.paths import shown
from harness.base.secrets import mask_secrets
from harness.experiment.execute import InProcess, MeasuredRun
from harness.experiment.files import ExperimentFiles
from harness.experiment.record import ExperimentRun, PlanExperiment, measured
from harness.experiment.runner import Runner
from harness.experiment.start import ExperimentParts, log_end, run_experiment
from harness.experiment.warm import O, R, WarmDesign, WarmLevel, WarmRuns
from harness.plan.division import count_of_parts
from harness.plan.load.model import Load, LoadRequest, OpenLoad, load_record, resolve_load
from harness.plan.spec import RunSpec
from harness.report.cloudwatch import metrics_after
from harness.report.files import write_report
from harness.report.setup import load_text
from harness.report.watchers import Follow
from harness.run.context import RunContext, ready_jmeter, start, system_of, warn_of, with_parts
from harness.run.directory import RunDirectory, reserve
from harness.run.measure import measure
from harness.run.other_runs import OtherRuns
from harness.run.parts.share import check_places, part_arguments
from harness.run.preflight import check_request, log_warnings
from harness.run.prepare import PreparedRun, prepare
from harness.run.record import RunRecord
from harness.run.recorders import finished
from harness.run.telemetry.recording import attach_to, check_recording, process_of
from harness.system.jcmd import dump_recordings
from harness.system.supervisor import Supervisor

# JMeter's start, its last samples and the report.
_FIRST_GUESS_S = 8.0
# Gets the directory and the spec of a run that starts.
Began = Callable[[RunDirectory, RunSpec], None]


def run_warm(
    options: argparse.Namespace,
    new: R,
    runs: WarmRuns[R],
    kind: Callable[[ExperimentFiles, WarmRuns[R]], WarmDesign[R, O]],
    follow: Follow,
    publish: Callable[[Path], object],
) -> int:
    """Start or resume an experiment, do its runs until its end or an interruption, and return the exit code.

    `new` has its settings. `follow` provides what follows its runs while they last; `publish` gets its report at the
    end. UsageError for invalid options.
    """
    for request in runs.requests:
        check_recording(runs.recording, request)
        check_places(request)
        if request.places and request.plan.jobs and runs.warm_up.length_s:
            what = f"--on: the parts would send the jobs of {request.plan.name} in the warm-up, too"
            raise UsageError(what, "leave the warm-up out: --warmup 0")
        for load in runs.extremes:
            check_request(request, load)
    allow_open_files(max((load.users or 0 for load in runs.extremes if not isinstance(load, OpenLoad)), default=0))
    request = runs.requests[0]
    with Interrupts() as interrupts, ExitStack() as stack:
        jmeter = ready_jmeter(request, options.reports)
        if request.is_profiled:
            toolchain.ensure_profiler()
        watchers = stack.enter_context(follow(interrupts))
        guardian = stack.enter_context(Guardian())
        context = RunContext(jmeter, interrupts, Console(), guardian, watch=watchers.watch)
        warn_of(OtherRuns().new(), context.log)
        log_warnings(request, context.log)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sweep-", ignore_cleanup_errors=True)))
        guardian.remove_at_end(folder)

        def in_process(files: ExperimentFiles, record: R) -> InProcess:
            levels = stack.enter_context(Levels(runs, options, files, context, folder))
            return InProcess(context, watchers, partial(levels.measured, record))

        def close(runner: Runner[R, O]) -> int:
            code = _closed(runner, runs, options, context)
            if runner.outcome.results:
                publish(runner.design.files.report)
            return code

        guess_s = _FIRST_GUESS_S + (runs.warm_up.starting_s(request) if runs.warm_up.is_fresh else 0.0)
        parts = ExperimentParts(lambda files, _: kind(files, runs), in_process, close, guess_s)
        return run_experiment(new, options, stack, parts)


def _closed(runner: Runner[R, O], runs: WarmRuns[R], options: argparse.Namespace, context: RunContext) -> int:
    """Add what is known after the last run, log the result and return the exit code.

    KeyboardInterrupt when no run was started.
    """
    design, outcome = runner.design, runner.outcome
    assert isinstance(design, WarmDesign)
    record, is_watched = outcome.record, bool(runs.requests[0].profile.cloudwatch)
    directories = [design.files.run(run.name) for run in measured(record.runs)]
    if directories and is_watched:
        metrics_after(record.id, directories, context.log)  # Ctrl-C skips this
    if directories and runs.recording:
        _attach(directories, record, runs.recording, context)
    with context.interrupts.deferred():
        if directories and (is_watched or runs.recording):
            design.write_page(outcome)
        if not design.files.record.is_file():
            raise KeyboardInterrupt
        log_end(record, design.files if outcome.results else None, design.answer)
        return design.exit_code(outcome, options)


def _attach(directories: Sequence[RunDirectory], record: PlanExperiment, recording: Path, context: RunContext) -> None:
    """Add to each run its part of the flight recording of a JVM elsewhere, and write its report again."""
    with context.interrupts.deferred():
        whys = attach_to(directories, recording, process_of(recording), context.guardian.environment)
        for directory in directories:
            write_report(directory)
    if why := next(filter(None, whys), ""):
        runs = f"{record.plan}/run-{record.series}_*"
        command = shlex.join(["lth", "heap", shown(recording), "--run", runs])
        context.log(f"--jfr={shown(recording)}: {why}; attach it later: {command}")


class Levels(Generic[R]):
    """The system or target of all runs; the system is stopped at the end of the block.

    `folder` is temporary: it contains the logs of the system, and the warm-up.
    """

    def __init__(
        self,
        runs: WarmRuns[R],
        options: argparse.Namespace,
        files: ExperimentFiles,
        context: RunContext,
        folder: Path,
    ) -> None:
        self._runs, self._options = runs, options
        self._request = runs.requests[0]
        self._files = files
        self._context = context
        self._logs = folder / "logs"
        self._warm_up_directory = RunDirectory(folder / "warm-up")
        self._system: Supervisor | None = None
        self._is_warm = False
        self._machines = ExitStack()
        self._has_measured = False

    def __enter__(self) -> Levels[R]:
        return self

    def __exit__(self, *_: object) -> None:
        with self._context.interrupts.deferred():
            self._machines.close()
            self._stop()

    def measured(self, record: R, run: ExperimentRun, began: Began) -> MeasuredRun:
        """Measure one run. `began` is called before it.

        StartError when the system does not start, or dies during the warm-up.
        """
        since_s, level = time.monotonic(), self._runs.level_of(record, run)
        if level.restarts or (self._system and not self._system.is_up):
            self._stop()
        self._request = level.request
        if self._request.target is None and self._system is None:
            self._system = system_of(self._request, self._logs, self._context)
            start(self._system, self._logs, self._request, self._context)
        if not self._is_warm:
            self._warm_up()
        if not level.restarts:  # the system starts once, before the first level
            since_s = time.monotonic()
        directory = reserve(self._files.folder.parent.parent, record.plan, record.series)
        try:
            measured_run = self._measure(record, level, directory, began)
            self._has_measured = True
            return MeasuredRun(directory, measured_run.interrupted, since_s)
        except UsageError as error:  # a part of a later run
            raise StartError(error.what, error.todo) if self._has_measured else error from None
        finally:
            if not directory.run_json.is_file():
                directory.discard()

    def _measure(self, record: R, level: WarmLevel, directory: RunDirectory, began: Began) -> RunRecord:
        system, warm_up = self._system, self._runs.warm_up
        spec = self._request.run_spec(level.load, note=record.note_of(level.note), command=level.command)
        with self._context.guardian.masking(directory.path, spec.hidden):
            context = self._context_for(level.load, level.load_options)
            prepared = prepare(spec, directory, system, context, (("warm-up", warm_up.text),))
            kept_up = system is not None and not warm_up.is_fresh
            prepared = replace(prepared, record=replace(prepared.record, kept_up=kept_up))
            with self._context.interrupts.deferred():
                began(directory, spec)
                ends = log_ends(self._logs) if kept_up else {}
                run = measure(prepared, context)
                if system:
                    run = self._finished(prepared, run, system, ends)
        return run

    def _context_for(self, load: Load, options: Mapping[str, str | None]) -> RunContext:
        """Return the context of a run: with --on that of its parts, which stay connected until one is lost.

        A load with fewer users than there are parts has fewer parts.
        """
        request = self._request
        if request.places and (self._context.parts is None or self._context.parts.is_lost):
            self._machines.close()
            self._context = self._machines.enter_context(with_parts(request, None, self._context))
        if self._context.parts:
            count = count_of_parts(load, len(request.places))
            self._context.parts.take(request, part_arguments(self._options, request, options), count)
        return self._context

    def _finished(self, run: PreparedRun, record: RunRecord, system: Supervisor, ends: Mapping[str, int]) -> RunRecord:
        """Store the log lines and JVM heaps of this run; return the record with what is not known of them."""
        directory, recordings = run.directory, system.recordings
        with contextlib.suppress(OSError):  # the report lists the missing logs
            copy_new_lines(self._logs, ends, directory.system_logs, recordings.values())
            mask_secrets(directory.system_logs, self._request.hidden)
        copies = {process: directory.system_logs / path.name for process, path in recordings.items()}
        missing = dump_recordings(system.processes, copies, self._context.guardian.environment)
        whole = {process: path for process, path in copies.items() if process not in dict(missing)}
        return finished(run, self._context, record, whole, missing)

    def _stop(self) -> None:
        if self._system:
            self._system.stop()
            self._system, self._is_warm = None, False

    def _warm_up(self) -> None:
        """Load the system and discard the samples: JVMs compile, caches and pools fill."""
        self._is_warm, warm_up = True, self._runs.warm_up
        if not warm_up.length_s:
            return
        load = resolve_load(LoadRequest(warm_up.users, duration_s=warm_up.length_s), self._request.plan.load)
        spec, directory = self._request.run_spec(load, note="", command=""), self._warm_up_directory
        # A cold system may be slow, and what it does is not of interest. A job may last longer than a warm-up.
        spec = replace(spec, plan=replace(spec.plan, stop=(), jobs=()), is_profiled=False)
        self._context.log(f"warm-up, not counted: {load_text(load_record(load, self._request.plan.load))}")
        shutil.rmtree(directory.path, ignore_errors=True)
        directory.path.mkdir(parents=True)
        context = self._context_for(load, warm_up.load_options)
        run = prepare(spec, directory, self._system, context)
        with self._context.interrupts.deferred():
            record = measure(run, replace(context, watch=None))
        if record.interrupted:
            raise KeyboardInterrupt
        for reason in record.stop_reasons:
            self._context.log(f"warm-up: {reason}")
        if self._system and not self._system.is_up:
            raise StartError(f"{self._system.manifest.title}: died during the warm-up", "see the lines above")


def log_ends(folder: Path) -> Mapping[str, int]:
    """Return the size in bytes of every log in `folder` by name: the next run's part begins there."""
    return {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}


def copy_new_lines(folder: Path, ends: Mapping[str, int], target: Path, leave_out: Iterable[Path] = ()) -> None:
    """Copy what was added to the logs in `folder` since `ends` to `target`; a log that shrank is copied whole.

    A log without new lines becomes an empty file, which shows that nothing was logged. `leave_out` are files that are
    not logs.
    """
    target.mkdir(parents=True, exist_ok=True)
    for name, size in log_ends(folder).items():
        path = folder / name
        if path in set(leave_out):
            continue
        begin = ends.get(name, 0)
        with path.open("rb") as log, (target / name).open("wb") as out:
            log.seek(begin if begin <= size else 0)
            shutil.copyfileobj(log, out)
