"""Whether a run's numbers may be believed, and whether they meet the plan's goal: said before any figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.base import units
from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, EXIT_REGRESSED
from harness.metrics.figures import ErrorKind, LabelFigures
from harness.plan.goal import Goal
from harness.plan.load import OPEN
from harness.report.warnings import RunWarning, Severity
from harness.run.record import FINISHED, RunRecord

# Above this share of failed samples a run says nothing about speed, whatever the plan's goal is.
MOSTLY_ERRORS_RATIO = 0.5
VALID, DOUBTFUL, INVALID, INTERRUPTED = "VALID", "DOUBTFUL", "INVALID", "INTERRUPTED"


@dataclass(frozen=True)
class Verdict:
    """VALID, DOUBTFUL, INVALID or INTERRUPTED, and why; of a VALID or DOUBTFUL run each goal, and whether it was met.

    DOUBTFUL: the run did what was asked, but its numbers may not be the system's (a warning has that severity).
    INVALID: it did not do what was asked, or did not measure the system.
    """

    state: str
    reasons: tuple[str, ...]
    goals_met: tuple[str, ...]
    goals_missed: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """The exit code that this verdict asks for."""
        return self.exit_code_if(sure=False)

    def exit_code_if(self, *, sure: bool) -> int:
        """Return the exit code; with `sure` a DOUBTFUL run counts as an INVALID one."""
        if self.state == INTERRUPTED:
            return EXIT_INTERRUPTED
        if self.state == INVALID or (sure and self.state == DOUBTFUL):
            return EXIT_INVALID
        return EXIT_REGRESSED if self.goals_missed else EXIT_OK


def headline(verdict: Verdict) -> str:
    """Return the verdict in one line: the state, why, and the goals."""
    parts = [": ".join([verdict.state, "; ".join(verdict.reasons)]) if verdict.reasons else verdict.state]
    if verdict.goals_missed:
        parts.append("Goal missed: " + "; ".join(verdict.goals_missed))
    if verdict.goals_met:
        parts.append("Goal met: " + "; ".join(verdict.goals_met))
    return ". ".join(parts) + "."


def judge(
    load: LabelFigures | None,
    run: RunRecord | None,
    errors: Sequence[ErrorKind] = (),
    counted: LabelFigures | None = None,
    labels: Sequence[LabelFigures] = (),
    warnings: Sequence[RunWarning] = (),
    peak_users: int | None = None,
    false_time: Sequence[str] = (),
) -> Verdict:
    """Return the verdict on the load's TOTAL (None: it has no sample) and on how the run ended.

    `warnings` are those of the run; `peak_users` is the most users ever active at once, None where not known;
    `false_time` says why its time stamps are wrong.
    Times are held against the goal in the window (`counted`, else `load`, and `labels`); errors always over all of the
    run.
    """
    reasons = [*_reasons(load, run, errors), *false_time]
    if run and run.interrupted:
        kept = "stopped by hand before its end: the samples so far are kept"
        return Verdict(INTERRUPTED, (kept, *reasons), (), ())
    reasons = reasons or _other_load(run, peak_users)  # a system that died kept users away
    if reasons or load is None:
        return Verdict(INVALID, tuple(reasons), (), ())  # figures that must not be believed meet no goal
    why = tuple(dict.fromkeys(warning.brief for warning in warnings if warning.severity is Severity.DOUBTFUL))
    met, missed = _goals(load, counted or load, labels, run.goal if run else Goal())
    return Verdict(DOUBTFUL if why else VALID, why, tuple(met), tuple(missed))


def _other_load(run: RunRecord | None, peak_users: int | None) -> list[str]:
    """Return why the load was not the one that was asked for: other users were active at the peak than asked for."""
    asked = run.load.users if run and run.load.model != OPEN else None
    if not asked or peak_users is None or peak_users == asked:
        return []
    what = f"{units.plural(peak_users, 'user')} at the peak, {asked} {'was' if asked == 1 else 'were'} asked for"
    if peak_users > asked:
        return [f"{what}: the plan starts threads that USERS does not set"]
    return [f"{what}: let the run last longer than its ramp, and see jmeter.log for threads that ended early"]


def _reasons(load: LabelFigures | None, run: RunRecord | None, errors: Sequence[ErrorKind]) -> list[str]:
    reasons = []
    if load is None:
        reasons.append("no sample of the load was taken")
        reasons += [f"{error.label} failed: {error.code} {error.cause}" for error in errors[:1]]
    elif load.error_ratio > MOSTLY_ERRORS_RATIO:
        part = "all" if load.error_count == load.sample_count else f"{units.percent_text(load.error_ratio)} % of"
        reasons.append(f"{part} {load.sample_count} samples failed: a fast error is no speed")
    if run:
        reasons += run.stop_reasons
        if run.state != FINISHED:
            reasons.append("the harness did not see the end of this run")
    return reasons


def is_beyond(label: LabelFigures, goal: Goal) -> bool:
    """Return whether a label's average is more than the goal for each of them allows, or is one of mere failures."""
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
