"""What to do after a run, by its verdict: sentences with commands that can be pasted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.base import units
from harness.base.command import changed_command
from harness.judge.account import one_state
from harness.judge.result import NextStep
from harness.judge.verdict import DOUBTFUL, INTERRUPTED, INVALID, Verdict
from harness.judge.warnings import RunWarning, Severity, too_few_samples, too_short
from harness.metrics.metric import ERRORS, METRICS
from harness.run.record import RunRecord

# A command that makes one run, as it is recorded.
# Commands of versions before 1.0.0 are those of scripts/run.
_RUN = re.compile(r"(?:make|lth) (?:run|soak)\b|\S*scripts/run\b")
# The option with which the warning too-short says how long is enough.
_LONG_ENOUGH = re.compile(r"(?:DURATION|--duration)=(\S+?)\.?(?=\s|$)")
_REQUESTS = re.compile(r"(?:REQUESTS|--requests)=(\d+)")
# Doubts that a longer run removes.
_SHORT = (too_short.WARNING.code, too_few_samples.WARNING.code, one_state.LINE.code)


def next_steps(
    run: RunRecord | None, verdict: Verdict, warnings: Sequence[RunWarning], *, has_failures: bool = False
) -> tuple[NextStep, ...]:
    """Return what to do next, first what helps at night: reading; nothing for samples without a record of their run."""
    return tuple(_steps(run, verdict, warnings, has_failures=has_failures)) if run else ()


def _steps(
    run: RunRecord, verdict: Verdict, warnings: Sequence[RunWarning], *, has_failures: bool
) -> Iterator[NextStep]:
    misses_errors = any(goal.metric == ERRORS.key and not goal.is_met for goal in verdict.goals)
    if misses_errors or (has_failures and verdict.state == INVALID):
        yield NextStep("Read the failed requests with their responses in failures.html of the run directory")
    if verdict.state == INTERRUPTED:
        yield NextStep("Run it again to its end", _again(run))
    elif verdict.state == INVALID:
        yield NextStep("Read the logs in the run directory, remove the cause, and run again", _again(run))
    elif verdict.state == DOUBTFUL:
        yield _without_doubt(run, warnings)
    if verdict.goals_missed:
        yield from _to_the_cause(run, verdict)
    elif verdict.state not in (INTERRUPTED, INVALID, DOUBTFUL):
        yield NextStep("Compare later runs with this one", f"lth pin {run.plan}/{run.name}")


def _without_doubt(run: RunRecord, warnings: Sequence[RunWarning]) -> NextStep:
    """Return how to run again without the first doubt: longer, or without its cause."""
    first = next((one for one in warnings if one.severity is Severity.DOUBTFUL), None)
    if first is None or first.code not in _SHORT:
        return NextStep("Remove the cause of the first doubt, and run again", _again(run))
    enough, requests = _LONG_ENOUGH.search(first.text), _REQUESTS.search(first.text)
    duration_s = run.load.duration_s
    if enough:
        return NextStep("Run long enough", _again(run, duration=enough[1]))
    if requests:
        return NextStep("Send enough requests", _again(run, requests=requests[1]))
    if duration_s and not run.load.loads:
        return NextStep("Run longer", _again(run, duration=f"{units.number_text(2 * duration_s)}s"))
    return NextStep("Run longer", _again(run))


def _to_the_cause(run: RunRecord, verdict: Verdict) -> Iterator[NextStep]:
    """Yield where to look for the cause of a missed goal of a metric: where the time went."""
    missed = {goal.metric for goal in verdict.goals if not goal.is_met}
    if missed & {metric.key for metric in METRICS if metric.key != ERRORS.key}:
        if run.is_profiled:
            yield NextStep("Read where the time went, below")
        elif run.is_embedded:
            yield NextStep("See where the time goes", _again(run, profile=None))


def _again(run: RunRecord, **values: str | None) -> str:
    """Return the command of a run with other values of options; empty if another command made the run."""
    if not _RUN.match(run.command):
        return ""
    return changed_command(run.command, **values) if values else run.command
