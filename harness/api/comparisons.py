"""Compares runs and sweeps as `lth compare` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pandas import DataFrame

from harness.api.frames import comparison_frame, joined, texts
from harness.api.run import REPORTS, Run
from harness.base.project import current_project
from harness.compare.answer import headline
from harness.compare.comparison import Comparison
from harness.compare.decision import compare as compare_results
from harness.compare.sides import Found, plans_of, read_side, refuse_duplicates
from harness.compare.sources import result_of_jtls
from harness.history.pin_files import runs_of_pins
from harness.kinds.trust.single_files import single_scatter
from harness.plan.plan import thresholds_of
from harness.report.run_result import RunResult
from harness.run.names import refuse_stored
from harness.sweep.level_verdicts import ComparedLevels, compare_levels
from harness.sweep.overlay import one_sided
from harness.sweep.pairs import SweepComparison
from harness.sweep.pairs import headline as headline_of_sweeps
from harness.sweep.sources import are_sweeps, find_sweeps

Side: TypeAlias = str | Path | Run | Sequence[str | Path | Run]


@dataclass(frozen=True)
class ComparedRuns:
    """The comparison of a contender with a baseline; `comparison` has all of it."""

    comparison: Comparison

    @property
    def verdict(self) -> str:
        """REGRESSED, OK, CANNOT TELL or INVALID."""
        return self.comparison.verdict

    @property
    def headline(self) -> str:
        """The verdict and its reasons in one line."""
        return headline(self.comparison)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the comparison."""
        return self.comparison.warnings

    def table(self) -> DataFrame:
        """Return a row per label and metric, those of TOTAL first.

        Columns: `label`, `metric` (categories; `p90_ms`, `rate_per_s`, …), `is_total`, `is_transaction`, `base` and
        `new` (in the unit of the metric), `delta_ratio` ((new - base) / base), `low_ratio` and `high_ratio` (its 95 %
        interval, for `error_ratio` that of new - base), `p_value`, `adjusted_p_value`, `threshold_ratio`, `verdict`,
        `reason`, `decides`, `least_ratio`, `further_runs` (Int64), `base_n`, `new_n`, `unit` (what they count),
        `base_sample_count`, `new_sample_count` (Int64): as in the JSON of a comparison (docs/format.md).
        """
        return comparison_frame(self.comparison)

    def __repr__(self) -> str:
        return f"<ComparedRuns {self.headline}>"


@dataclass(frozen=True)
class ComparedSweeps:
    """The comparison of a sweep with a baseline, level by level; `compared` has all of it."""

    compared: ComparedLevels

    @property
    def comparison(self) -> SweepComparison:
        """The verdict over all levels, and the differences at each."""
        return self.compared.whole

    @property
    def verdict(self) -> str:
        """REGRESSED, OK, CANNOT TELL or INVALID, over all levels."""
        return self.comparison.verdict

    @property
    def headline(self) -> str:
        """The verdict with its reason, and the range of differences of the average over the levels."""
        return headline_of_sweeps(self.comparison)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The levels that only one sweep has, which are not compared, and the warnings of the runs."""
        return (*one_sided(self.comparison), *self.comparison.warnings)

    def table(self) -> DataFrame:
        """Return a row per level, label and metric; each level has the rows of `ComparedRuns.table`.

        Columns: `level` (5 users; in sweeps over a setting its name and value, delay_ms=20; a category), `users`, then
        those of `ComparedRuns.table`. The verdict of a row is about its level alone.
        """
        parts = []
        for level, comparison in self.compared.levels.items():
            part = comparison_frame(comparison)
            part.insert(0, "level", texts([level.text] * len(part)))
            part.insert(1, "users", level.users)
            parts.append(part)
        return joined(parts)

    def __repr__(self) -> str:
        return f"<ComparedSweeps {self.headline}>"


def compare(
    baseline: Side,
    contender: Side,
    *,
    anyway: bool = False,
    thresholds: Mapping[str, float] | None = None,
    reports: str | Path = REPORTS,
    project: str | Path | None = None,
) -> ComparedRuns | ComparedSweeps:
    """Return the comparison of a contender with a baseline, each a run or several, or a sweep.

    A run is a `Run`, or what `lth compare` takes: a name, a pin, a pattern, a path of a run, JTL, JSON or
    Markdown report. Two sweeps, over users or the same setting, are compared level by level. With `anyway` runs that
    are DOUBTFUL or differ in their load are judged, too. The thresholds are those of the plan in the folder `project`,
    replaced by `thresholds`: ratios by metric, and `alpha`.

        result = compare("run-07_1", "run-07_2", thresholds={"p95": 0.2})
        print(result.headline)
        result.table().query("is_total")

    UsageError for runs of different loads, the same run twice, an unknown threshold, a name that matches nothing, and
    sweeps without a common level.
    """
    sides = [
        [side] if isinstance(side, str) or not isinstance(side, Sequence) else side for side in (baseline, contender)
    ]
    folder = Path(project) if project else current_project().folder
    if are_sweeps([one.name if isinstance(one, Run) else str(one) for side in sides for one in side]):
        sweeps = find_sweeps([str(one) for side in sides for one in side], Path(reports))
        record = sweeps[1].sweep.record
        limits = thresholds_of(folder, [record.plan if record else ""]).with_table(thresholds or {}, "thresholds")
        return ComparedSweeps(compare_levels(sweeps[0], sweeps[1], limits, anyway=anyway))
    every = [str(one) for side in sides for one in side if not isinstance(one, Run)]
    named = [[result for one in side for result in _results_of(one, every, Path(reports))] for side in sides]
    refuse_duplicates(*named)
    limits = thresholds_of(folder, plans_of(*named)).with_table(thresholds or {}, "thresholds")
    results, others = ([one.result for one in side] for side in named)
    scatter = single_scatter(Path(reports), results, others)
    return ComparedRuns(compare_results(results, others, limits, anyway, scatter))


def _results_of(source: str | Path | Run, every: Sequence[str], reports: Path) -> list[Found]:
    """Return the results that a run or name means; `every` are all names, which decide whose pin a name is."""
    if not isinstance(source, Run):
        return read_side(runs_of_pins([str(source)], every, reports), reports)
    if source.stored:
        path = source.directory.path if source.directory else Path(source.name)
        return [Found(path, RunResult.of(source.stored))]
    for given in source.files:
        refuse_stored(given.name)
    paths = [given.path for given in source.files if given.path]
    if len(paths) == 1 and source.columns is None:
        return read_side([str(paths[0])], reports)
    return [Found(paths[0], result_of_jtls(source.files, source.name, source.columns))]
