"""Decides which runs of an experiment count, and reads their results."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from harness.base.errors import UsageError
from harness.experiment.files import ExperimentFiles
from harness.experiment.record import ENDED, ExperimentRecord
from harness.judge.account import one_state, read_counted
from harness.judge.verdict import DOUBTFUL, INTERRUPTED
from harness.judge.warnings import (
    Severity,
    distinct,
    generator_delay,
    other_cpu,
    stall,
    stolen_cpu,
    too_few_samples,
    too_short,
)
from harness.metrics.metric import Table, columns_of_runs
from harness.report.files import write_missing_report
from harness.report.run_result import RunResult
from harness.report.stored_results import read_stored
from harness.run.directory import RunDirectory

# Runs that are DOUBTFUL for these reasons count. All runs of an experiment meet such a machine and such a warm-up;
# what they do not have in common is in their scatter, which the intervals contain.
_OF_EVERY_RUN = frozenset((
    other_cpu.WARNING.code, stolen_cpu.WARNING.code, too_short.WARNING.code, one_state.LINE.code,
    read_counted.LINE.code, too_few_samples.WARNING.code, stall.WARNING.code, generator_delay.WARNING.code,
))  # fmt: skip
_METRICS = columns_of_runs(Table.BRIEF)


class Needs(Enum):
    """What a run needs to count: each member includes those before it."""

    NUMBERS = 1  # also of failures only
    VALID = 2
    COMPARABLE = 3  # neither ended early nor DOUBTFUL for a reason of its own


class RunProblem(NamedTuple):
    """Why a run does not count; empty when it does. An invalid run has no usable numbers at all."""

    text: str
    is_invalid: bool


def problem_of(result: RunResult | None, problem: str = "", needs: Needs = Needs.COMPARABLE) -> RunProblem:
    """Return why a run does not count where it must be as good as `needs`.

    `problem` is what the harness noticed from outside: the run hung, or another process killed it.
    """
    if problem or result is None or result.total is None:
        return RunProblem(problem or "it has no numbers", is_invalid=True)
    verdict = result.verdict
    if needs is Needs.NUMBERS:
        return RunProblem("", is_invalid=False)
    if result.is_invalid or (verdict and verdict.state == INTERRUPTED):
        assert verdict
        return RunProblem(f"{verdict.state}: {'; '.join(verdict.reasons)}", is_invalid=True)
    if needs is Needs.VALID:
        return RunProblem("", is_invalid=False)
    if result.run and result.run.stopped_early:
        return RunProblem(f"stopped early: {result.run.stopped_early}", is_invalid=True)
    doubtful = (warning for warning in result.warnings if warning.severity is Severity.DOUBTFUL)
    doubts = [warning.brief for warning in doubtful if warning.code not in _OF_EVERY_RUN]
    return RunProblem(f"{DOUBTFUL}: {'; '.join(distinct(doubts))}" if doubts else "", is_invalid=False)


def result_of(directory: RunDirectory) -> RunResult | None:
    """Return the result of a run, None when it left none; its report is written now if a killed harness could not."""
    write_missing_report(directory)
    return read_stored(directory).result if directory.is_there else None


def results_of(files: ExperimentFiles, record: ExperimentRecord) -> dict[str, RunResult]:
    """Return the results of the runs so far by name, of an experiment with one plan.

    UsageError when a run has lost its numbers: without it the result would be another one.
    """
    results: dict[str, RunResult] = {}
    for run in record.runs:
        name = run.run or ""
        result = result_of(files.run(name)) if name else None
        if result:
            results[name] = result
        elif run.state == ENDED and not run.problem:
            directory = files.run(name)
            why = read_stored(directory).problem if directory.is_there else "it was deleted"
            what = f"{record.id}: its run {name} has no numbers any more ({why}); nothing was written"
            raise UsageError(what, f"restore its .json, or repeat the {record.report_kind.key}")
    return results


def run_line(result: RunResult) -> str:
    """Return a run's verdict and main values on one line."""
    verdict, total = result.verdict, result.total
    parts = [] if verdict is None else [": ".join([verdict.state, *verdict.reasons[:1]])]
    if total:
        parts += [
            # The title of the throughput is its unit, req/s.
            f"{one.short_title} {one.text(one.of(total))} {one.unit}".removeprefix(f"{one.unit} ")
            for one in _METRICS
        ]
    if verdict and verdict.goals_missed:
        parts.append("goal missed")
    return f"{result.name}: {', '.join(parts)}"
