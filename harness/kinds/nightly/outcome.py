"""Compute the result of a nightly run: outcome of each run, checks of each load, changes since the last one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.base.errors import EXIT_INVALID, EXIT_OK, EXIT_REGRESSED
from harness.compare.causes import GrownCost, causes
from harness.compare.conditions import Conditions
from harness.compare.setup_diff import Difference, setup_differences
from harness.experiment.record import ENDED, NOT_RUN
from harness.history.acceptance import Acceptance
from harness.history.catalogue import Entry
from harness.history.nightly_series import NightlyRuns, date_of, nightly_runs_of
from harness.judge.goals import GoalResult
from harness.judge.result import GOAL_MISSED
from harness.judge.verdict import DOUBTFUL, INVALID, VALID
from harness.kinds.nightly.gate import OK, REGRESSED, WARNED, Check, GateRules, judge
from harness.kinds.nightly.record import Load, LoadRun, NightlyRecord
from harness.metrics.figures import TOTAL
from harness.metrics.metric import Metric, metric_of
from harness.plan.load.model import LoadRecord
from harness.plan.thresholds import Thresholds
from harness.report.run_result import RunResult

FAILED, NOT_MEASURED = "FAILED", "NOT RUN"
# A nightly run can also be INVALID (not everything was measured or stored) or DOUBTFUL (a run's numbers may not
# describe the system).
# The list of commits shows this difference.
_SHOWN_ELSEWHERE = ("commit of the harness",)


@dataclass(frozen=True)
class LoadOutcome:
    """How a run ended: OK, GOAL MISSED, DOUBTFUL, INVALID, INTERRUPTED, FAILED (no metrics) or NOT RUN, and why.

    A DOUBTFUL run that missed a goal is GOAL MISSED; its reasons include those for DOUBTFUL, too.
    """

    run: LoadRun
    load: Load
    state: str
    reasons: tuple[str, ...]
    result: RunResult | None

    @property
    def goals(self) -> tuple[GoalResult, ...]:
        """The goals of the run with what was measured; empty when the run was not judged."""
        return self.result.verdict.goals if self.result and self.result.verdict else ()


@dataclass(frozen=True)
class CostGrowth:
    """What a request costs more of than in the nightly run of `date`, the last profiled one before a regression."""

    date: str
    causes: tuple[GrownCost, ...]


@dataclass(frozen=True)
class LoadResult:
    """The result of a load: its checks, and what changed since `last_date`, when it was measured before.

    `others_count` runs of the same date do not belong to this nightly run, and count with it. `too_few` are the labels
    and metrics with too few samples to be judged. `growth` is None unless a metric is REGRESSED, and something grew
    inside the system. `unseen` says which threshold the plan's trust test shows to be too small for these runs.
    """

    load: Load
    checks: tuple[Check, ...]
    too_few: tuple[str, ...]
    last_date: str | None
    differences: tuple[Difference, ...]
    growth: CostGrowth | None = None
    others_count: int = 0
    unseen: str = ""


@dataclass(frozen=True)
class NightlyResult:
    """The content of a nightly report."""

    record: NightlyRecord
    outcomes: tuple[LoadOutcome, ...]
    loads: tuple[LoadResult, ...]

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all loads."""
        return tuple(check for load in self.loads for check in load.checks)

    @property
    def missing_labels(self) -> tuple[str, ...]:
        """The labels that the suite judges and no run has; empty when a run has no metrics, which may contain them."""
        if {outcome.state for outcome in self.outcomes} - {OK, GOAL_MISSED, DOUBTFUL}:
            return ()
        results = [outcome.result for outcome in self.outcomes if outcome.result]
        there = {TOTAL, *(figures.label for result in results for figures in result.labels)}
        return tuple(label for label in self.record.labels if label not in there)

    @property
    def verdict(self) -> str:
        """The worst state: REGRESSED, GOAL MISSED, INVALID, WARNED, DOUBTFUL or OK.

        WARNED comes before DOUBTFUL, because its metrics are trustworthy.
        """
        states = {check.state for check in self.checks}
        ends = {outcome.state for outcome in self.outcomes}
        if REGRESSED in states or GOAL_MISSED in ends:
            return REGRESSED if REGRESSED in states else GOAL_MISSED
        if ends - {OK, DOUBTFUL} or self.record.storage_problems or self.missing_labels:
            return INVALID
        if WARNED in states:
            return WARNED
        return DOUBTFUL if DOUBTFUL in ends else OK

    def exit_code_if(self, *, sure: bool) -> int:
        """Return the exit code; with `sure` a DOUBTFUL run counts as INVALID, also when the verdict is WARNED."""
        codes = {REGRESSED: EXIT_REGRESSED, GOAL_MISSED: EXIT_REGRESSED, INVALID: EXIT_INVALID}
        is_doubtful = any(outcome.state == DOUBTFUL for outcome in self.outcomes)
        return codes.get(self.verdict, EXIT_INVALID if sure and is_doubtful else EXIT_OK)


def nightly_result(record: NightlyRecord, entries: Iterable[Entry], acceptances: Sequence[Acceptance]) -> NightlyResult:
    """Return the result of a nightly run; `entries` are the runs of all nightly runs, later ones are ignored."""
    tonight = date_of(int(record.series))
    assert tonight is not None  # the series of a nightly run is its date
    known = {entry.id: entry for entry in entries}
    groups = [group for group in nightly_runs_of(known.values()) if group.date <= tonight]
    return NightlyResult(
        record=record,
        outcomes=tuple(_outcome(run, record.load_of(run), known) for run in record.runs),
        loads=tuple(_load_result(load, record, groups, tonight, acceptances) for load in record.loads),
    )


def _outcome(run: LoadRun, load: Load, entries: Mapping[str, Entry]) -> LoadOutcome:
    problem = (run.problem,) if run.problem else ()
    if run.state != ENDED:
        why = problem if run.state == NOT_RUN else ("the nightly run was stopped before",)
        return LoadOutcome(run, load, NOT_MEASURED, why, None)
    entry = entries.get(f"{load.plan}/{run.run}") if run.run else None
    result = entry.result if entry else None
    if result is None or result.verdict is None:
        lost = (entry.problem if entry else "its report no longer exists",) if run.run else ()
        return LoadOutcome(run, load, FAILED, (*problem, *lost), None)
    verdict = result.verdict
    if not verdict.goals_missed:  # only judged runs have goals
        state = OK if verdict.state == VALID else verdict.state
        return LoadOutcome(run, load, state, (*problem, *verdict.reasons), result)
    doubtful = (f"{DOUBTFUL}: {'; '.join(verdict.reasons)}",) if verdict.reasons else ()
    return LoadOutcome(run, load, GOAL_MISSED, (*problem, *verdict.goals_missed, *doubtful), result)


def _load_result(
    load: Load, record: NightlyRecord, groups: Sequence[NightlyRuns], tonight: str, acceptances: Sequence[Acceptance]
) -> LoadResult:
    of_plan = [group for group in groups if group.plan == load.plan]
    rules = GateRules(thresholds=load.thresholds, metrics=metrics_of(record))
    found = judge(of_plan, tonight, acceptances, rules) if of_plan else ()
    checks = tuple(check for check in found if _is_of(load, check.conditions) and _is_judged(record, check))
    alike = [group for group in of_plan if _is_of(load, group.conditions)]
    before = [group for group in alike if group.date < tonight]
    now = [group for group in alike if group not in before]
    runs = [entry for group in now for entry in group.runs]
    own_names = {run.run for run in record.runs}
    own = [entry for entry in runs if entry.name in own_names]
    others = [entry for entry in runs if entry not in own]
    earlier = [entry for entry in others if own and entry.order_key < own[0].order_key]
    last_date = tonight if earlier else before[-1].date if before else None
    last = earlier or [entry for group in before if group.date == last_date for entry in group.runs]
    return LoadResult(
        load=load,
        checks=checks,
        too_few=_too_few(record, now, checks),
        last_date=last_date,
        differences=_differences(last, own),
        growth=_growth(checks, before, now),
        others_count=len(others),
    )


def _growth(checks: Sequence[Check], before: Sequence[NightlyRuns], now: Sequence[NightlyRuns]) -> CostGrowth | None:
    since = min((check.since for check in checks if check.state == REGRESSED and check.since), default="")
    profiled = [group for group in before if group.date < since and any(run.is_profiled for run in group.valid)]
    if not profiled:
        return None
    last_date = profiled[-1].date
    baseline = [run for group in profiled if group.date == last_date for run in group.valid]
    found = causes(baseline, [run for group in now for run in group.valid])
    return CostGrowth(last_date, found) if found else None


class Resolution(Protocol):
    """What is known of the changes that the runs of a plan can see."""

    def gate_text(self, thresholds: Thresholds, metrics: tuple[Metric, ...], length_s: float, repeats: int) -> str:
        """Return which thresholds so many runs of this length cannot see, and what would; else an empty text."""


# Returns what is known of a plan with a load and a profile; None without a test of it. The path is of all results, or
# of nightly runs.
KnownOf = Callable[[Path, str, LoadRecord, str], Resolution | None]


def unseen(load: Load, metrics: tuple[Metric, ...], reports: Path, known: KnownOf) -> str | None:
    """Return which threshold the runs of a load cannot see, by what is known of its plan; empty when they see all.

    None when nothing is known. `reports` is the folder of nightly runs.
    """
    found = known(reports, load.plan, load.load, load.profile)
    return found.gate_text(load.thresholds, metrics, load.planned_s, load.repeats) if found else None


def metrics_of(record: NightlyRecord) -> tuple[Metric, ...]:
    """Return the metrics to judge."""
    return tuple(metric_of(name) for name in record.metrics)


def _too_few(record: NightlyRecord, now: Sequence[NightlyRuns], checks: Sequence[Check]) -> tuple[str, ...]:
    """Return the metrics to judge that have no check, with their labels: pay p90 ms."""
    there = {(check.label, check.metric) for check in checks}
    # The check of the whole label or plan gives the reason.
    explained = {check.label for check in checks if not check.metric}
    if TOTAL in explained:
        return ()
    labels = dict.fromkeys(label for group in now for label in group.labels)
    requested = [label for label in labels if label not in explained and label in (record.labels or labels)]
    pairs = ((label, metric) for label in requested for metric in metrics_of(record))
    return tuple(f"{label} {metric.title}" for label, metric in pairs if (label, metric) not in there)


def _is_of(load: Load, conditions: Conditions) -> bool:
    return (load.load, load.profile, load.target) == (conditions.load, conditions.profile, conditions.target)


def _is_judged(record: NightlyRecord, check: Check) -> bool:
    """Return whether the suite judges the check; new and gone labels are always reported."""
    return not check.metric or not record.labels or check.label in record.labels


def _differences(before: Sequence[Entry], now: Sequence[Entry]) -> tuple[Difference, ...]:
    """Return the set-up changes since the last nightly run; empty when one of both has no runs."""
    sides = [[entry.result for entry in side if entry.result] for side in (before, now)]
    found = setup_differences(*sides) if all(sides) else ()
    return tuple(one for one in found if one.name not in _SHOWN_ELSEWHERE)
