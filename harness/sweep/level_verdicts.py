"""Compares the runs of two sweeps level by level, and judges the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.base.errors import UsageError
from harness.compare.outcome import Comparison
from harness.compare.result import RunResult
from harness.compare.sources import read_result
from harness.compare.verdict import compare
from harness.compare.warnings import warnings_of
from harness.plan.thresholds import Thresholds
from harness.sweep.labels import label_of
from harness.sweep.levels import LevelKey
from harness.sweep.pairs import LevelVerdict, SweepComparison, compare_sweeps
from harness.sweep.sources import FoundSweep
from harness.sweep.text import levels_text
from harness.sweep.verdict import with_verdict


@dataclass(frozen=True)
class ComparedLevels:
    """Two compared sweeps: `whole` has the verdict over all levels, `levels` the comparison of the runs of each.

    `base` and `new` are the results of the runs by level, also of levels that only one side has.
    """

    whole: SweepComparison
    levels: Mapping[LevelKey, Comparison]
    base: Mapping[LevelKey, Sequence[RunResult]]
    new: Mapping[LevelKey, Sequence[RunResult]]


def compare_levels(base: FoundSweep, new: FoundSweep, thresholds: Thresholds, *, anyway: bool) -> ComparedLevels:
    """Return the comparison of two sweeps with its verdict. UsageError when they have no level in common.

    With `anyway`, runs that are DOUBTFUL or differ in load are judged, too.
    """
    comparison = compare_sweeps(base.sweep, new.sweep)
    young_keys = {level.key for level in new.sweep.levels}
    common = [level.key for level in base.sweep.levels if level.key in young_keys]
    if not common:
        levels = " against ".join(levels_text(one.sweep.levels) for one in (base, new))
        raise UsageError(
            f"{base.sweep.name} and {new.sweep.name} have no level in common ({levels})",
            "compare sweeps over some of the same values"
            if base.sweep.is_of_setting
            else "compare sweeps over some of the same USERS",
        )
    old, young = _results(base), _results(new)
    levels_compared = {key: compare(old[key], young[key], thresholds, anyway) for key in common}
    comparison = replace(
        comparison,
        verdicts=tuple(_verdict(key, old[key], young[key], found, anyway) for key, found in levels_compared.items()),
        warnings=tuple(warnings_of([run for side in (old, young) for runs in side.values() for run in runs])),
    )
    return ComparedLevels(with_verdict(comparison, thresholds), levels_compared, old, young)


def _verdict(
    level: LevelKey, base: Sequence[RunResult], new: Sequence[RunResult], comparison: Comparison, anyway: bool
) -> LevelVerdict:
    """Return the verdict on the runs of a level that both sweeps have."""
    is_repeated = min(len(base), len(new)) > 1
    is_doubtful = not anyway and any(run.is_doubtful for run in (*base, *new))
    reason = "; ".join(comparison.reasons)
    return LevelVerdict(level.users, comparison.verdict, reason, is_repeated, is_doubtful, level.setting)


def _results(found: FoundSweep) -> dict[LevelKey, list[RunResult]]:
    """Return the results of a sweep's runs by level, without the runs that could not be read."""
    results: dict[LevelKey, list[RunResult]] = {}
    for level in found.sweep.levels:
        runs = [read_result(found.run_reports[run.name].with_suffix("")) for run in level.runs]
        results[level.key] = [_of_label(run, found.sweep.label) for run in runs] if found.sweep.label else runs
    return results


def _of_label(run: RunResult, label: str) -> RunResult:
    """Return the result with a label instead of TOTAL, and without other labels; errors are limited as in the run."""
    return replace(run, total=label_of(run.labels, label), whole=run.whole or run.total, labels=())
