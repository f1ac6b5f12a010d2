"""Derives what to do after a comparison: commands that decide it, or find the cause of a regression."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from harness.base import units
from harness.base.command import Command, changed_command
from harness.base.project import DEFAULT_PROFILE
from harness.compare.answer import is_of_runs
from harness.compare.comparison import CANNOT_TELL, INVALID, REGRESSED, Comparison
from harness.judge.result import NextStep
from harness.report.run_result import RunResult
from harness.run.record import RunRecord

# The variables of a run's command that an A/B test has, too; the sides have the others.
_KEPT = ("plan", "users", "rate", "ramp", "duration", "requests")


def next_steps(
    comparison: Comparison, baseline: Sequence[RunResult], contender: Sequence[RunResult]
) -> Iterator[NextStep]:
    """Yield what to do next, the most useful first; nothing after OK and IMPROVED."""
    if comparison.verdict not in (REGRESSED, CANNOT_TELL, INVALID):
        return
    if is_of_runs(comparison):
        yield _again(comparison, (*baseline, *contender))
    elif comparison.is_of_work:
        is_lost = comparison.verdict == REGRESSED
        lost = f"Find out why {contender[-1].name} no longer sends it: errors before it, data, or the plan"
        yield NextStep(lost if is_lost else "Measure both sides again with the same requests and load")
    elif baseline[-1].run and contender[-1].run:
        yield from _of_recorded(comparison, baseline[-1].run, contender[-1].run)
    else:
        further = comparison.further_runs
        more = f"{units.plural(further, 'more run')} a side" if further else "further runs"
        what = "Confirm it with" if comparison.verdict == REGRESSED else "Measure"
        yield NextStep(f"{what} {more}, alternating between the sides; --base and --new take several")


def _again(comparison: Comparison, runs: Sequence[RunResult]) -> NextStep:
    """Return which run to measure again, because it is INVALID, DOUBTFUL or without a request."""
    found = next((run for run in runs if run.is_doubtful or run.is_invalid), None)
    found = found or next((run for run in runs if run.total and run.total.sample_count == 0), runs[-1])
    what = "Remove the cause, then measure" if comparison.verdict == INVALID else "Measure"
    return NextStep(f"{what} {found.name} again", found.run.command if found.run else "")


def _of_recorded(comparison: Comparison, baseline: RunRecord, contender: RunRecord) -> Iterator[NextStep]:
    if comparison.verdict == REGRESSED and not (baseline.is_profiled and contender.is_profiled):
        profiled = changed_command(contender.command, profile=None)
        yield NextStep("Find the cause: measure both sides with a profile", profiled)
    if sides := _sides(baseline, contender):
        a, b = sides
        env = contender.profile if baseline.profile == contender.profile else ""
        given = _given(contender.command)
        what = (
            "Let alternating pairs of runs confirm it" if comparison.verdict == REGRESSED else "Run alternating pairs"
        )
        yield NextStep(what, str(Command.of("ab", a=a, b=b, **given, env="" if env == DEFAULT_PROFILE else env)))
    elif comparison.verdict == CANNOT_TELL:
        further = comparison.further_runs
        more = f"Measure {units.plural(further, 'more run')} a side" if further else "Run longer"
        yield NextStep(f"{more}, alternating between the sides", contender.command)


def _sides(baseline: RunRecord, contender: RunRecord) -> list[str]:
    """Return the two sides of an A/B test by what the runs differ in: settings, profile or commit; none if by none."""
    settings = [" ".join(run.set_values) for run in (baseline, contender)]
    commits = [(run.git_commit or "")[:12] for run in (baseline, contender)]
    for a, b in (settings, (baseline.profile, contender.profile), commits):
        if a and b and a != b:
            return [a, b]
    return []


def _given(command: str) -> dict[str, str]:
    """Return the variables of a run's command that an A/B test has, too."""
    pairs = (word.removeprefix("--").partition("=") for word in shlex.split(command))
    return {name.lower(): value for name, _, value in pairs if name.lower() in _KEPT and value}
