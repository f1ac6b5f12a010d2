"""Runs the levels of `scripts/sweep` and `scripts/capacity` one after the other, on a system that stays warm."""

from __future__ import annotations

import argparse
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK
from harness.base.guardian import Guardian
from harness.base.install import toolchain
from harness.base.interrupts import Interrupts
from harness.base.open_files import allow_open_files
from harness.base.paths import shown, tool_command
from harness.experiment.counting import Needs, problem_of
from harness.experiment.execute import InProcess, Step
from harness.experiment.files import ExperimentFiles
from harness.experiment.record import FINISHED, measured
from harness.experiment.runner import Runner
from harness.experiment.start import ExperimentParts, log_end, run_experiment
from harness.plan.stop import parse_stop
from harness.report.cloudwatch import metrics_after
from harness.report.files import write_report
from harness.report.run_result import RunResult
from harness.report.watchers import Follow
from harness.run.context import RunContext, ready_jmeter, warn_of, with_generators
from harness.run.directory import RunDirectory
from harness.run.other_runs import OtherRuns
from harness.run.preflight import check_request, log_warnings
from harness.run.request import Request
from harness.run.telemetry.recording import attach_to, check_recording, process_of
from harness.sweep.files import StoredSweep, SweepSoFar
from harness.sweep.level_runner import Levels, level_load
from harness.sweep.record import SweepRecord, SweepRun

# After so many runs in a row that do not count the sweep stops: the plan, the target or the machine needs attention.
_INVALID_IN_A_ROW = 3
# JMeter's start, its last samples and the report.
_FIRST_GUESS_S = 8.0
_START_S = 20.0


class NextRun(NamedTuple):
    """The next run of a sweep, and its heading in the terminal."""

    run: SweepRun
    heading: str


@dataclass
class SweepDesign(StoredSweep):
    """A sweep of any kind: `request` is that of one level. A run that is not as good as `needs` does not count."""

    request: Request
    needs = Needs.VALID

    @abstractmethod
    def next_run(self, so_far: SweepSoFar) -> NextRun | None:
        """Return the next run; None at the end."""

    def left_s(self, so_far: SweepSoFar) -> Sequence[float | None]:  # noqa: ARG002
        """Return the planned durations of all runs that are left, s; empty when their number is not known."""
        return ()

    def next_step(self, outcome: SweepSoFar) -> Step | None:
        """Return the next level."""
        following = self.next_run(outcome)
        if following is None:
            return None
        run, record = following.run, outcome.record
        load_s, left_s = planned_s(self.request, record, run.users), list(self.left_s(outcome))
        is_first = not record.fresh and not measured(record.runs[record.resumed_at :])
        start_s = starting_s(record) if is_first else 0.0
        if left_s and left_s[0] is not None:
            left_s[0] += start_s
        needed_s = () if load_s is None else (load_s + start_s,)
        return Step(replace(run, planned_s=load_s), following.heading, planned_s=needed_s, left_s=left_s)

    def counts(self, result: RunResult) -> bool:
        """Return whether a run has the numbers that the sweep needs."""
        return not problem_of(result, needs=self.needs).text

    def exit_code(self, outcome: SweepSoFar, options: argparse.Namespace) -> int:
        """Return the exit code; with --sure a DOUBTFUL run is treated as one without a usable result."""
        if outcome.record.state != FINISHED and not outcome.record.stop_reason:
            return EXIT_INTERRUPTED
        is_bad = any(not self.counts(one) or (options.sure and one.is_doubtful) for one in outcome.results)
        return EXIT_INVALID if is_bad else EXIT_OK

    def obstacle(self, outcome: SweepSoFar) -> str:
        """Return why the sweep stops after this run; an empty text when it continues."""
        since = len(measured(outcome.record.runs[: outcome.record.resumed_at]))
        last = outcome.results[since:][-_INVALID_IN_A_ROW:]
        if len(last) < _INVALID_IN_A_ROW or any(map(self.counts, last)):
            return ""
        verdict = last[-1].verdict
        why = verdict.reasons[0] if verdict and verdict.reasons else "of an unknown reason"
        return f"stopped after {_INVALID_IN_A_ROW} INVALID runs in a row, the last one because {why}"


def planned_s(request: Request, record: SweepRecord, users: int) -> float | None:
    """Return the planned duration of a level, s; None when it ends after a number of loops or requests."""
    load = level_load(request, record, users)
    return load.duration_s if getattr(load, "requests", None) is None else None


def run_sweep(
    options: argparse.Namespace,
    new: SweepRecord,
    requests: Mapping[str, Request],
    kind: type[SweepDesign],
    follow: Follow,
    publish: Callable[[Path], object],
) -> int:
    """Start or resume a sweep, run it until its end or an interruption, and return the exit code.

    `new` has its settings, `requests` the request of each level by its value of the swept setting, see `requests_of`.
    `follow` provides what follows its runs while they last; `publish` gets its report at the end. UsageError for
    invalid options.
    """
    requests = {setting: _with_conditions(request, new) for setting, request in requests.items()}
    request = next(iter(requests.values()))
    for level_request in requests.values():
        check_recording(options.jfr, level_request)
        for users in (new.largest_users, new.warm_up_users):
            check_request(level_request, level_load(level_request, new, users))
    allow_open_files(new.largest_users)
    with Interrupts() as interrupts, ExitStack() as stack:
        jmeter = ready_jmeter(request, options.reports)
        if request.is_profiled:
            toolchain.ensure_profiler()
        watchers = stack.enter_context(follow(interrupts))
        guardian = stack.enter_context(Guardian())
        context = RunContext(jmeter, interrupts, Console(), guardian, watch=watchers.watch)
        warn_of(OtherRuns().new(), context.log)
        context = stack.enter_context(with_generators(request, options.keys, context))
        log_warnings(request, context.log)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sweep-", ignore_cleanup_errors=True)))
        guardian.remove_at_end(folder)

        def in_process(files: ExperimentFiles, record: SweepRecord) -> InProcess:
            levels = stack.enter_context(Levels(requests, files, context, folder, new.warm_up_users))
            return InProcess(context, watchers, partial(levels.measured, record))

        def close(runner: Runner[SweepRecord, SweepSoFar]) -> int:
            code = _closed(runner, requests, options, context)
            if runner.outcome.results:
                publish(runner.design.files.report)
            return code

        guess_s = _FIRST_GUESS_S + (starting_s(new) if new.fresh else 0.0)
        parts = ExperimentParts(lambda files, _: kind(files, request), in_process, close, guess_s)
        return run_experiment(new, options, stack, parts)


def _closed(
    runner: Runner[SweepRecord, SweepSoFar],
    requests: Mapping[str, Request],
    options: argparse.Namespace,
    context: RunContext,
) -> int:
    """Add what is known after the last run, log the result and return the exit code.

    KeyboardInterrupt when no run was started.
    """
    design, outcome = runner.design, runner.outcome
    assert isinstance(design, SweepDesign)
    record, is_watched = outcome.record, bool(next(iter(requests.values())).profile.cloudwatch)
    directories = [design.files.run(run.name) for run in record.measured]
    if directories and is_watched:
        metrics_after(record.id, directories, context.log)  # Ctrl-C skips this
    if directories and options.jfr:
        _attach(directories, record, options.jfr, context)
    with context.interrupts.deferred():
        if directories and (is_watched or options.jfr):
            design.write_page(outcome)
        if not design.files.record.is_file():
            raise KeyboardInterrupt
        log_end(record, design.files if outcome.results else None, design.answer)
        return design.exit_code(outcome, options)


def starting_s(record: SweepRecord) -> float:
    """Return about how long the start of the system and its warm-up take."""
    return record.warm_up_s + (0.0 if record.target else _START_S)


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


def _with_conditions(request: Request, record: SweepRecord) -> Request:
    """Return the request with the goal and the stop conditions of a sweep, where it has its own."""
    plan = replace(request.plan, goal=record.goal) if record.goal else request.plan
    if record.stop:
        plan = replace(plan, stop=parse_stop(record.stop))
    return replace(request, plan=plan)
