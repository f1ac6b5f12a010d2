"""Compares the runs of two sweeps level by level, and judges the difference."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import NamedTuple

from harness.base import units
from harness.base.errors import UsageError
from harness.compare.comparison import BETTER, CANNOT_TELL, INVALID, OK, REGRESSED, Comparison
from harness.compare.comparison_warnings import warnings_of
from harness.compare.decision import compare
from harness.compare.sources import read_result
from harness.judge.account import AccountLine
from harness.metrics.distributions import student_t_quantile
from harness.metrics.metric import Table, metrics_of
from harness.plan.thresholds import Thresholds
from harness.report.run_result import RunResult
from harness.sweep.labels import label_of
from harness.sweep.levels import LevelKey, Sweep
from harness.sweep.pairs import FigureComparison, LevelVerdict, SweepComparison, compare_sweeps
from harness.sweep.sources import FoundSweep
from harness.sweep.text import levels_text

# Minimum number of pairs for an interval.
_PAIRS_LEAST = 3
# The metrics that are judged over all levels: of shares there are no logarithms, as they may be 0.
_JUDGED = {
    metric.key: metric for metric in metrics_of(Table.BRIEF) if not metric.is_share and metric.threshold is not None
}


@dataclass(frozen=True)
class ComparedLevels:
    """Two compared sweeps: `whole` has the verdict over all levels, `levels` the comparison of the runs of each.

    `baseline` and `contender` are the results of the runs by level, also of levels that only one side has.
    """

    whole: SweepComparison
    levels: Mapping[LevelKey, Comparison]
    baseline: Mapping[LevelKey, Sequence[RunResult]]
    contender: Mapping[LevelKey, Sequence[RunResult]]


def compare_levels(
    baseline: FoundSweep, contender: FoundSweep, thresholds: Thresholds, *, anyway: bool
) -> ComparedLevels:
    """Return the comparison of two sweeps with its verdict. UsageError when they have no level in common.

    With `anyway`, runs that are DOUBTFUL or differ in load are judged, too.
    """
    contender_keys = {level.key for level in contender.sweep.levels}
    common = [level.key for level in baseline.sweep.levels if level.key in contender_keys]
    if not common:
        levels = " against ".join(levels_text(one.sweep.levels) for one in (baseline, contender))
        what = f"{baseline.sweep.name} and {contender.sweep.name} have no level in common ({levels})"
        same = "values" if baseline.sweep.is_of_setting else "--users"
        raise UsageError(what, f"compare sweeps over some of the same {same}")
    results = SweepResults(results_of(baseline), results_of(contender))
    return compare_results((baseline.sweep, contender.sweep), results, thresholds, anyway=anyway)


class SweepResults(NamedTuple):
    """The results of the runs of two sweeps by level."""

    baseline: Mapping[LevelKey, Sequence[RunResult]]
    contender: Mapping[LevelKey, Sequence[RunResult]]


def compare_results(
    sweeps: tuple[Sweep, Sweep], results: SweepResults, thresholds: Thresholds, *, anyway: bool = False
) -> ComparedLevels:
    """Return the comparison of two sweeps whose results are known: of the levels that both have."""
    comparison = compare_sweeps(*sweeps)
    baseline_results, contender_results = results
    common = [key for key in baseline_results if key in contender_results]
    levels_compared = {
        key: compare(baseline_results[key], contender_results[key], thresholds, anyway) for key in common
    }
    verdicts = []
    for key, level_comparison in levels_compared.items():
        is_repeated = min(len(baseline_results[key]), len(contender_results[key])) > 1
        is_doubtful = not anyway and any(run.is_doubtful for run in (*baseline_results[key], *contender_results[key]))
        reason = "; ".join(level_comparison.reasons)
        verdicts.append(
            LevelVerdict(
                key.users,
                level_comparison.verdict,
                reason,
                is_repeated,
                is_doubtful,
                key.setting,
                next(iter(level_comparison.work), ""),
            )
        )
    warnings = warnings_of(
        [run for side in (baseline_results, contender_results) for runs in side.values() for run in runs]
    )
    accounts: dict[str, Sequence[AccountLine]] = {}
    for key, level_comparison in levels_compared.items():
        accounts |= level_comparison.accounts
        accounts |= {f"both sides, {key.text}": [line]} if (line := level_comparison.same_work) else {}
    comparison = replace(comparison, verdicts=tuple(verdicts), warnings=tuple(warnings), accounts=accounts)
    return ComparedLevels(with_verdict(comparison, thresholds), levels_compared, baseline_results, contender_results)


def results_of(stored_sweep: FoundSweep) -> dict[LevelKey, list[RunResult]]:
    """Return the results of a sweep's runs by level, without the runs that could not be read."""
    results: dict[LevelKey, list[RunResult]] = {}
    for level in stored_sweep.sweep.levels:
        runs = [read_result(stored_sweep.run_reports[run.name].with_suffix("")) for run in level.runs]
        if label := stored_sweep.sweep.label:  # instead of TOTAL; errors are limited as in the run
            runs = [
                replace(run, total=label_of(run.labels, label), whole=run.whole or run.total, labels=()) for run in runs
            ]
        results[level.key] = runs
    return results


class _Interval(NamedTuple):
    """The ends of the interval of the mean change over the levels, as ratios."""

    low_ratio: float
    high_ratio: float

    def as_regression(self, name: str) -> _Interval:
        """Return the ends as ratios that are positive for a regression."""
        return _Interval(-self.high_ratio, -self.low_ratio) if _JUDGED[name].more_is_better else self


class _Decision(NamedTuple):
    """The verdict over all levels, and its reason."""

    verdict: str
    reason: str


def with_verdict(comparison: SweepComparison, thresholds: Thresholds) -> SweepComparison:
    """Return the comparison with the verdict over all levels and its reason.

    A level with a DOUBTFUL run, or with other work of the sides, is excluded: the other levels may show a regression,
    but not that nothing has changed.
    """
    decision = _decide(comparison, thresholds)
    return replace(comparison, verdict=decision.verdict, reason=decision.reason)


def _decide(comparison: SweepComparison, thresholds: Thresholds) -> _Decision:
    levels = comparison.verdicts
    doubtful = [level.key for level in levels if level.is_doubtful]
    invalid = [level.key for level in levels if level.verdict == INVALID]
    if invalid:
        return _Decision(INVALID, f"at {_listed(invalid)}")
    regressed = [level for level in levels if level.verdict == REGRESSED]
    repeated = [level.key for level in regressed if level.is_repeated]
    if repeated or 2 * len(regressed) > len(levels):
        return _Decision(REGRESSED, f"at {_listed(repeated or [level.key for level in regressed])}")
    other_work = [level for level in levels if level.other_work and not level.is_doubtful]
    left_out = [*doubtful, *(level.key for level in other_work)]
    intervals = {figure.figure: _interval(figure, thresholds.alpha, left_out) for figure in comparison.figures}
    known = {name: found for name, found in intervals.items() if found and name in _JUDGED}
    limits = {name: thresholds.of(_JUDGED[name]) for name in known}
    worse = {name: found.as_regression(name) for name, found in known.items()}
    if certain := [name for name, found in worse.items() if found.low_ratio > limits[name]]:
        return _Decision(REGRESSED, "; ".join(_text(name, known[name]) for name in certain))
    if doubtful:
        return _Decision(CANNOT_TELL, f"a run at {_listed(doubtful)} is DOUBTFUL")
    if other_work:
        return _Decision(CANNOT_TELL, f"at {_listed([one.key for one in other_work])} {other_work[0].other_work}")
    if known and not regressed and all(found.high_ratio < limits[name] for name, found in worse.items()):
        return _Decision(OK, "; ".join(_text(name, found) for name, found in known.items()))
    if levels and all(level.verdict in (OK, BETTER) for level in levels):
        return _Decision(OK, "at every level")
    return _Decision(CANNOT_TELL, _undecided(regressed, known))


def _interval(figure: FigureComparison, alpha: float, left_out: Container[LevelKey]) -> _Interval | None:
    """Return the interval of the mean change over the levels; None with too few levels."""
    logs = [
        math.log(delta.new / delta.base)
        for delta in figure.deltas
        if delta.base and delta.new and delta.key not in left_out
    ]
    if len(logs) < _PAIRS_LEAST:
        return None
    half = student_t_quantile(len(logs) - 1, 1 - alpha / 2) * stdev(logs) / math.sqrt(len(logs))
    return _Interval(math.expm1(fmean(logs) - half), math.expm1(fmean(logs) + half))


def _text(name: str, found: _Interval) -> str:
    low, high = (f"{end * 100:+.1f}" for end in found)
    return f"{_JUDGED[name].phrase} {low} to {high} % over all levels"


def _listed(levels: Sequence[LevelKey]) -> str:
    """Return levels as text: 5, 10 users; delay_ms=10, 20."""
    values = ", ".join(level.value for level in levels)
    if levels[0].setting:
        return f"{levels[0].setting.partition('=')[0]}={values}"
    return values + (" user" if values == "1" else " users")


def _undecided(regressed: Sequence[LevelVerdict], known: dict[str, _Interval]) -> str:
    if regressed:
        what = f"only at {_listed([level.key for level in regressed])} a change exceeds its threshold"
        return f"{what}: one run per level is not enough, measure again with --repeat=5"
    if not known:
        return f"too few common levels: needs at least {units.plural(_PAIRS_LEAST, 'level')}, or --repeat=5"
    return "; ".join(_text(name, found) for name, found in known.items())
