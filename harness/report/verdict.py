"""Judges a run: whether its numbers are valid, and whether they meet the plan's goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.base import units
from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, EXIT_REGRESSED
from harness.metrics.figures import ErrorKind, Group, LabelFigures
from harness.plan.goal import Goal
from harness.plan.load import OPEN
from harness.report.evidence import Evidence, false_time
from harness.report.warnings import RunWarning, Severity
from harness.run.record import FINISHED, RunRecord

# Above this share of failed samples the response times mean nothing, whatever the plan's goal is.
MOSTLY_ERRORS_RATIO = 0.5
VALID, DOUBTFUL, INVALID, INTERRUPTED = "VALID", "DOUBTFUL", "INVALID", "INTERRUPTED"


@dataclass(frozen=True)
class Verdict:
    """VALID, DOUBTFUL, INVALID or INTERRUPTED, with reasons; a VALID or DOUBTFUL run has goals met and goals missed.

    DOUBTFUL: the run did what was requested, but its numbers may not be the system's (a warning has that severity).
    INVALID: it did not do what was requested, or did not measure the system.
    """

    state: str
    reasons: tuple[str, ...]
    goals_met: tuple[str, ...]
    goals_missed: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """The exit code of this verdict."""
        return self.exit_code_if(sure=False)

    def exit_code_if(self, *, sure: bool) -> int:
        """Return the exit code; with `sure` a DOUBTFUL run counts as INVALID."""
        if self.state == INTERRUPTED:
            return EXIT_INTERRUPTED
        if self.state == INVALID or (sure and self.state == DOUBTFUL):
            return EXIT_INVALID
        return EXIT_REGRESSED if self.goals_missed else EXIT_OK


def headline(verdict: Verdict) -> str:
    """Return the verdict in one line: the state, the reasons, and the goals."""
    parts = [": ".join([verdict.state, "; ".join(verdict.reasons)]) if verdict.reasons else verdict.state]
    if verdict.goals_missed:
        parts.append("Goal missed: " + "; ".join(verdict.goals_missed))
    if verdict.goals_met:
        parts.append("Goal met: " + "; ".join(verdict.goals_met))
    return ". ".join(parts) + "."


def judge(
    evidence: Evidence,
    warnings: Sequence[RunWarning],
    load: Group | None,
    whole: Group | None,
    errors: Sequence[ErrorKind],
    peak_users: int | None,
) -> Verdict:
    """Return the verdict from the load's TOTAL and from how the run ended.

    `load` is the load of the window, `whole` that of the whole run, None without a sample of it; `peak_users` is the
    most users that were active at once, None if not known. Goals for times apply to the window (to the whole run if no
    sample ended in the window), goals for errors to the whole run.
    """
    run = evidence.run
    reasons = [*_reasons(whole.total if whole else None, run, errors), *false_time(evidence)]
    if run and run.interrupted:
        return Verdict(INTERRUPTED, ("stopped by hand before its end: the samples so far are saved", *reasons), (), ())
    reasons = reasons or _other_load(run, peak_users)  # after a crash of the system fewer users are expected
    if reasons or whole is None:
        return Verdict(INVALID, tuple(reasons), (), ())  # invalid statistics meet no goal
    why = tuple(dict.fromkeys(warning.brief for warning in warnings if warning.severity is Severity.DOUBTFUL))
    goal, labels = run.goal if run else Goal(), load.labels if load else ()
    met, missed = _goals(whole.total, (load or whole).total, labels, goal)
    return Verdict(DOUBTFUL if why else VALID, why, tuple(met), tuple(missed))


def _other_load(run: RunRecord | None, peak_users: int | None) -> list[str]:
    """Return why the load was not the requested one: the peak number of users differs from the request."""
    asked = run.load.users if run and run.load.model != OPEN else None
    if not asked or peak_users is None or peak_users == asked:
        return []
    what = f"{units.plural(peak_users, 'user')} at the peak, {asked} {'was' if asked == 1 else 'were'} asked for"
    if peak_users > asked:
        return [f"{what}: the plan starts threads that USERS does not set"]
    return [f"{what}: run longer than the ramp-up, and look in jmeter.log for threads that ended early"]


def _reasons(load: LabelFigures | None, run: RunRecord | None, errors: Sequence[ErrorKind]) -> list[str]:
    reasons = []
    if load is None:
        reasons.append("no sample of the load was taken")
        reasons += [f"{error.label} failed: {error.code} {error.cause}" for error in errors[:1]]
    elif load.error_ratio > MOSTLY_ERRORS_RATIO:
        part = "all" if load.error_count == load.sample_count else f"{units.percent_text(load.error_ratio)} % of"
        reasons.append(f"{part} {load.sample_count} samples failed: response times of errors are not meaningful")
    if run:
        reasons += run.stop_reasons
        if run.state != FINISHED:
            reasons.append("the harness did not see the end of this run")
    return reasons


def is_beyond(label: LabelFigures, goal: Goal) -> bool:
    """Return whether a label's average exceeds the goal for each label, or most of its samples failed."""
    limit_ms = goal.each_average_ms
    return limit_ms is not None and (label.average_ms > limit_ms or label.error_ratio > MOSTLY_ERRORS_RATIO)


def _goals(
    load: LabelFigures, counted: LabelFigures, labels: Sequence[LabelFigures], goal: Goal
) -> tuple[list[str], list[str]]:
    met: list[str] = []
    missed: list[str] = []
    for metric, most_ms in goal.of_metrics.items():
        if metric.is_time:
            value_ms = metric.of(counted)
            text = f"{metric.words} {metric.text(value_ms)} ms, goal {units.ms_text(most_ms)} ms"
            (missed if value_ms is None or value_ms > most_ms else met).append(text)
    if goal.each_average_ms is not None:
        beyond = [label for label in labels if is_beyond(label, goal)]
        limit = f"{units.ms_text(goal.each_average_ms)} ms on average"
        if beyond:
            slowest = max(beyond, key=lambda label: label.average_ms)
            worst = f"the slowest is {slowest.label} with {units.average_text(slowest.average_ms)} ms"
            failed = any(label.error_ratio > MOSTLY_ERRORS_RATIO for label in beyond)
            what = f"above {limit} or mostly failed" if failed else f"above {limit}"
            missed.append(f"{len(beyond)} of {units.plural(len(labels), 'label')} {what}, {worst}")
        else:
            met.append(f"each of {units.plural(len(labels), 'label')} within {limit}")
    if goal.error_ratio is not None:
        text = f"errors {units.percent_text(load.error_ratio)} %, goal {units.percent_text(goal.error_ratio)} %"
        (met if load.error_ratio <= goal.error_ratio else missed).append(text)
    return met, missed
