"""Starts or resumes an experiment: what the commands of all kinds do around their runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from harness.base.errors import HarnessError, InvalidRunError, StartError
from harness.base.install import toolchain
from harness.base.java import jmeter_java_version
from harness.base.log import log
from harness.base.paths import shown
from harness.experiment.counting import results_of
from harness.experiment.execute import Execute, InChildren
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.record import RUNNING, ExperimentRecord
from harness.experiment.runner import Design, Runner
from harness.report.run_result import RunResult
from harness.run.directory import check_space
from harness.run.request import Request

R = TypeVar("R", bound=ExperimentRecord)
O = TypeVar("O")  # noqa: E741 - an outcome


def get_ready(requests: Iterable[Request], reports: Path) -> None:
    """Install what runs in child processes need: now, and not within the time of the first one."""
    jmeter_java_version()
    toolchain.ensure_jmeter()
    if any(request.is_profiled for request in requests):
        toolchain.ensure_profiler()
    check_space(reports, 0)


def _same(_: ExperimentFiles, record: R) -> R:
    return record


@dataclass(frozen=True)
class ExperimentParts(Generic[R, O]):
    """What a kind brings: its design, what executes its runs, and what is done at the end, which returns the exit code.

    A run takes about `guess_s` beside its load until it is known better. `read_results` returns the results of earlier
    runs by name, which the design judges; `prepare` returns the record with which the runs begin.
    """

    design_of: Callable[[ExperimentFiles, R], Design[R, O]]
    execute_of: Callable[[ExperimentFiles, R], Execute]
    close: Callable[[Runner[R, O]], int]
    guess_s: float
    read_results: Callable[[ExperimentFiles, R], Mapping[str, RunResult]] = results_of
    prepare: Callable[[ExperimentFiles, R], R] = _same


def run_experiment(new: R, options: argparse.Namespace, stack: ExitStack, parts: ExperimentParts[R, O]) -> int:
    """Run the experiment that the command of `new` starts or resumes to its end, and return the exit code.

    The stack locks its files. StartError and InvalidRunError after `close`.
    """

    def is_open(files: ExperimentFiles, record: R) -> bool:
        design = parts.design_of(files, record)
        return design.next_step(design.judge(record, parts.read_results(files, record))) is not None

    files, record = Experiments(type(new), options.reports).begun(new, options, stack, is_open)
    record = parts.prepare(files, record)
    execute = parts.execute_of(files, record)
    # Child processes get the interrupts.
    with execute.interrupts.deferred() if isinstance(execute, InChildren) else nullcontext():
        runner = Runner(
            parts.design_of(files, record), record, parts.read_results(files, record), execute, parts.guess_s
        )
        failure: HarnessError | None = None
        try:
            runner.run()
        except (StartError, InvalidRunError) as error:
            failure = error
        code = parts.close(runner)
    if failure:
        raise failure
    return code


def log_end(
    record: ExperimentRecord, files: ExperimentFiles | None, result: str, more: str = "", *, is_open: bool = False
) -> None:
    """Log the result of an experiment, the path of its report (None without one) and, for a rest, what resumes it.

    There is a rest when the record says so, and when `is_open`. `more` is what was also written.
    """
    if result:
        log(f"\n{record.id}: {result}")
    if files:
        log(f"report: {shown(files.report)}{more}")
    if record.state == RUNNING or record.stop_reason or is_open:
        why = f"{record.id}: {record.stop_reason or 'not finished'}"
        larger = " and a larger --max" if record.stop_reason and record.state != RUNNING else ""
        log(f"{why}; resume with: {record.resume_command}{larger}")
