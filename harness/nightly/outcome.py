"""What a night came to: how each run ended, what the gate says of each load, what differs from the night before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.base.errors import EXIT_INVALID, EXIT_OK, EXIT_REGRESSED
from harness.compare.conditions import Conditions
from harness.compare.result import RunResult
from harness.compare.setup_diff import Difference, setup_differences
from harness.history.acceptance import Acceptance
from harness.history.catalogue import Entry
from harness.history.nightly_series import Night, night_of, nights_of
from harness.metrics.figures import TOTAL
from harness.metrics.metric import Metric, metric_of
from harness.nightly.gate import OK, REGRESSED, WARNED, Check, GateRules, judge
from harness.nightly.record import ENDED, NOT_RUN, Load, NightlyRecord, NightRun
from harness.report.verdict import DOUBTFUL, INVALID, VALID

GOAL_MISSED, FAILED, NOT_MEASURED = "GOAL MISSED", "FAILED", "NOT RUN"
# Other than REGRESSED, WARNED, OK and GOAL MISSED a night may be INVALID: not all of it was measured, or kept; and
# DOUBTFUL: the numbers of a run may not be the system's.
# Told by the commits that came in between.
_TOLD_ELSEWHERE = ("commit of the harness",)


@dataclass(frozen=True)
class Outcome:
    """How a run ended: OK, GOAL MISSED, DOUBTFUL, INVALID, INTERRUPTED, FAILED (no figures) or NOT RUN, and why.

    A DOUBTFUL run that missed a goal is GOAL MISSED; its reasons include those for DOUBTFUL, too.
    """

    run: NightRun
    load: Load
    state: str
    reasons: tuple[str, ...]
    result: RunResult | None


@dataclass(frozen=True)
class TooFew:
    """A metric of a label that has too few samples to be judged."""

    label: str
    metric: Metric


@dataclass(frozen=True)
class LoadResult:
    """What a load came to: the checks of its figures, and what is not as it was in the last night that measured it.

    `too_few` are the metrics that have too few samples to be judged.
    """

    load: Load
    checks: tuple[Check, ...]
    too_few: tuple[TooFew, ...]
    last_night: str | None
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class NightlyResult:
    """A night with everything that its page says."""

    record: NightlyRecord
    outcomes: tuple[Outcome, ...]
    loads: tuple[LoadResult, ...]

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all loads."""
        return tuple(check for load in self.loads for check in load.checks)

    @property
    def missing_labels(self) -> tuple[str, ...]:
        """The labels that the suite judges and no run has; none where not all runs have figures: it may be theirs."""
        if {outcome.state for outcome in self.outcomes} - {OK, GOAL_MISSED, DOUBTFUL}:
            return ()
        results = [outcome.result for outcome in self.outcomes if outcome.result]
        there = {TOTAL, *(figures.label for result in results for figures in result.labels)}
        return tuple(label for label in self.record.labels if label not in there)

    @property
    def verdict(self) -> str:
        """The worst that is to be said: REGRESSED, GOAL MISSED, INVALID, WARNED, DOUBTFUL or OK.

        WARNED is of figures that can be trusted, so it comes before what could not be judged.
        """
        states = {check.state for check in self.checks}
        ends = {outcome.state for outcome in self.outcomes}
        if REGRESSED in states:
            return REGRESSED
        if GOAL_MISSED in ends:
            return GOAL_MISSED
        if ends - {OK, DOUBTFUL} or self.record.storage_problems or self.missing_labels:
            return INVALID
        if WARNED in states:
            return WARNED
        return DOUBTFUL if DOUBTFUL in ends else OK

    @property
    def exit_code(self) -> int:
        """The exit code that the verdict asks for."""
        return self.exit_code_if(sure=False)

    def exit_code_if(self, *, sure: bool) -> int:
        """Return the exit code; with `sure` a DOUBTFUL run counts as an INVALID one, also in a night that is WARNED."""
        codes = {REGRESSED: EXIT_REGRESSED, GOAL_MISSED: EXIT_REGRESSED, INVALID: EXIT_INVALID}
        is_doubtful = any(outcome.state == DOUBTFUL for outcome in self.outcomes)
        return codes.get(self.verdict, EXIT_INVALID if sure and is_doubtful else EXIT_OK)


def nightly_result(record: NightlyRecord, entries: Iterable[Entry], acceptances: Sequence[Acceptance]) -> NightlyResult:
    """Return what the night came to; `entries` are the runs of all nights, later ones are not looked at."""
    tonight = night_of(int(record.series))
    assert tonight is not None  # a night's series is its date
    known = {entry.id: entry for entry in entries}
    nights = [night for night in nights_of(known.values()) if night.night <= tonight]
    return NightlyResult(
        record=record,
        outcomes=tuple(_outcome(run, record.load_of(run), known) for run in record.runs),
        loads=tuple(_load_result(load, record, nights, tonight, acceptances) for load in record.loads),
    )


def _outcome(run: NightRun, load: Load, entries: Mapping[str, Entry]) -> Outcome:
    told = (run.problem,) if run.problem else ()
    if run.state != ENDED:
        why = told if run.state == NOT_RUN else ("the night was stopped before",)
        return Outcome(run, load, NOT_MEASURED, why, None)
    entry = entries.get(f"{load.plan}/{run.run}") if run.run else None
    result = entry.result if entry else None
    verdict = result.verdict if result else None
    if result is None or verdict is None:
        lost = (entry.problem if entry else "its report is not there any more",) if run.run else ()
        return Outcome(run, load, FAILED, (*told, *lost), None)
    if not verdict.goals_missed:  # only runs whose figures count have goals
        state = OK if verdict.state == VALID else verdict.state
        return Outcome(run, load, state, (*told, *verdict.reasons), result)
    doubtful = (f"{DOUBTFUL}: {'; '.join(verdict.reasons)}",) if verdict.reasons else ()
    return Outcome(run, load, GOAL_MISSED, (*told, *verdict.goals_missed, *doubtful), result)


def _load_result(
    load: Load, record: NightlyRecord, nights: Sequence[Night], tonight: str, acceptances: Sequence[Acceptance]
) -> LoadResult:
    own = [night for night in nights if night.plan == load.plan]
    rules = GateRules(thresholds=load.thresholds, metrics=_metrics(record))
    found = judge(own, tonight, acceptances, rules) if own else ()
    checks = tuple(check for check in found if _is_of(load, check.conditions) and _is_judged(record, check))
    alike = [night for night in own if _is_of(load, night.conditions)]
    before = [night for night in alike if night.night < tonight]
    now = [night for night in alike if night not in before]
    last_night = before[-1].night if before else None
    return LoadResult(
        load=load,
        checks=checks,
        too_few=_too_few(record, now, checks),
        last_night=last_night,
        differences=_differences([night for night in before if night.night == last_night], now),
    )


def _metrics(record: NightlyRecord) -> tuple[Metric, ...]:
    """Return the metrics that the suite wants judged."""
    return tuple(metric_of(name) for name in record.metrics)


def _too_few(record: NightlyRecord, now: Sequence[Night], checks: Sequence[Check]) -> tuple[TooFew, ...]:
    """Return the figures that were to be judged and have no check."""
    there = {(check.label, check.metric) for check in checks}
    # Of these the check of the label, or that of the whole plan, says why.
    told = {check.label for check in checks if not check.metric}
    if TOTAL in told:
        return ()
    labels = dict.fromkeys(label for night in now for label in night.labels)
    asked = [label for label in labels if label not in told and label in (record.labels or labels)]
    return tuple(
        TooFew(label, metric) for label in asked for metric in _metrics(record) if (label, metric) not in there
    )


def _is_of(load: Load, conditions: Conditions) -> bool:
    return (load.load, load.profile, load.target) == (conditions.load, conditions.profile, conditions.target)


def _is_judged(record: NightlyRecord, check: Check) -> bool:
    """Return whether the suite wants to know; that a label came or went is always told."""
    return not check.metric or not record.labels or check.label in record.labels


def _differences(before: Sequence[Night], now: Sequence[Night]) -> tuple[Difference, ...]:
    """Return what is set up in another way than in the last night; nothing where one of both has no runs."""
    sides = [[entry.result for night in side for entry in night.runs if entry.result] for side in (before, now)]
    if not all(sides):
        return ()
    return tuple(found for found in setup_differences(*sides) if found.name not in _TOLD_ELSEWHERE)
