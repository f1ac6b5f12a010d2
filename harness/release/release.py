"""The releases of a page: what was measured of each, and how the newest differs from the earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from harness.base.errors import UsageError
from harness.compare.comparison import Comparison
from harness.judge.summary import RunSummary
from harness.kinds.trust.known import Known
from harness.plan.thresholds import Thresholds
from harness.release.around import Around
from harness.release.cells import ReleaseCell, Runs
from harness.release.infrastructure import Infrastructure
from harness.release.pooled import with_pooled
from harness.run import kinds
from harness.sweep.analysis import SweepAnalysis, analyse
from harness.sweep.level_verdicts import ComparedLevels, compare_levels, results_of
from harness.sweep.levels import LevelRun, Sweep
from harness.sweep.pairs import SweepComparison
from harness.sweep.sources import FoundSweep


@dataclass(frozen=True)
class Edition:
    """What was measured of a release: its name on the page, and a sweep, or runs as one, of each plan.

    `infrastructure` and `arounds` (metrics before and after the runs, by plan) are included as far as they are known.
    """

    name: str
    sweeps: Mapping[str, FoundSweep]
    infrastructure: Infrastructure | None = None
    arounds: Mapping[str, Around] = field(default_factory=dict)

    @property
    def runs(self) -> tuple[LevelRun, ...]:
        """All runs, by plan and users."""
        return tuple(run for found in self.sweeps.values() for run in found.sweep.runs)

    @property
    def ids(self) -> list[str]:
        """The names of its sweeps with their plans; of runs those that were given."""
        return [source_name(found) for found in self.sweeps.values()]


class NamedSweep(NamedTuple):
    """A sweep, or runs as one, with its name on the page: that of its release, and its plan if there are several."""

    name: str
    sweep: Sweep

    @property
    def analysis(self) -> SweepAnalysis:
        """Its analysis, with its own goal."""
        return analyse(self.sweep.levels, self.sweep.goal)


def source_name(found: FoundSweep, *, is_short: bool = False) -> str:
    """Return what a sweep is called in the reports, such as shop/sweep-01; of runs mixed/run-02_1+2+3.

    With `is_short` without the plan and without ids.
    """
    record = found.sweep.record
    names = [record.id] if record else [run.name for run in found.sweep.runs]
    first, *others = [kinds.short_name(name.rpartition("/")[2]) for name in names] if is_short else names
    series = f"{first.rpartition('_')[0]}_"
    return "".join((first, *(f"+{name.removeprefix(series)}" for name in others)))


@dataclass(frozen=True)
class Release:
    """A release (`new`) beside earlier ones (`bases`, the last release first).

    `compared` has the comparisons with each of `bases`, by plan. `results` are those of all runs: of `new`, then of
    each of `bases`. `known` is what trust tests know of each plan. `long` is a longer run of the new release.
    """

    new: Edition
    bases: tuple[Edition, ...]
    compared: tuple[Mapping[str, ComparedLevels], ...]
    results: tuple[Runs, ...]
    thresholds: Thresholds
    known: Mapping[str, Known | None] = field(default_factory=dict)
    long: RunSummary | None = None

    @property
    def editions(self) -> tuple[Edition, ...]:
        """All releases in the order of columns: the new one, the last one, earlier ones."""
        return (self.new, *self.bases)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(edition.name for edition in self.editions)

    @property
    def plans(self) -> tuple[str, ...]:
        """The plans of the new release, each of which is a workload."""
        return tuple(self.new.sweeps)

    @property
    def wholes(self) -> Mapping[str, SweepComparison]:
        """The verdict on each workload against the last release, with the names of the page."""
        base = self.bases[0].name
        return {plan: replace(found.whole, base=base, new=self.new.name) for plan, found in self.compared[0].items()}

    @cached_property
    def levels(self) -> tuple[Mapping[ReleaseCell, Comparison], ...]:
        """The comparisons of the runs of each common cell, with each of `bases`; without the labels of jobs."""
        runs = [run for side in self.results for runs in side.values() for run in runs]
        jobs = {label.label for run in runs for label in run.labels if label.is_job}
        return tuple(
            {
                cell: replace(one, labels=tuple(label for label in one.labels if label.label not in jobs))
                for cell, one in levels.items()
            }
            for levels in self.all_levels
        )

    @cached_property
    def all_levels(self) -> tuple[Mapping[ReleaseCell, Comparison], ...]:
        """The same with jobs, whose average is their duration."""
        return tuple(
            {self.cell(plan, key.users): one for plan, found in of_base.items() for key, one in found.levels.items()}
            for of_base in self.compared
        )

    def cell(self, plan: str, users: int) -> ReleaseCell:
        """Return the cell of a plan."""
        return ReleaseCell(plan if len(self.plans) > 1 else "", users)

    def named(self, edition: Edition) -> list[NamedSweep]:
        """Return the sweeps of a release with their names on the page."""
        is_one = len(self.plans) == 1
        return [
            NamedSweep(edition.name if is_one else f"{edition.name} {plan}", found.sweep)
            for plan, found in edition.sweeps.items()
        ]


def release_of(
    new: Edition, bases: Sequence[Edition], thresholds: Thresholds, *, anyway: bool, long: RunSummary | None = None
) -> Release:
    """Return the release. UsageError for a release without a plan or a level of the new one, or with a run of it.

    With `anyway`, runs that are DOUBTFUL or differ in load are judged, too.
    """
    if long is not None and long.run is not None and long.run.plan not in new.sweeps:
        what = f"release: {long.source} is a run of {long.run.plan}, the page is of {' and '.join(new.sweeps)}"
        raise UsageError(what, "give a run of the same plan with --long, or none")
    compared = tuple(_compared(new, base, thresholds, anyway) for base in bases)
    release = Release(new, tuple(bases), compared, (), thresholds, long=long)
    results = tuple(
        {
            release.cell(plan, key.users): runs
            for plan, found in edition.sweeps.items()
            for key, runs in results_of(found).items()
        }
        for edition in release.editions
    )
    return replace(release, results=results)


def _compared(new: Edition, base: Edition, thresholds: Thresholds, anyway: bool) -> dict[str, ComparedLevels]:
    if others := [found for plan, found in base.sweeps.items() if plan not in new.sweeps]:
        plans = [" and ".join(edition.sweeps) for edition in (base, new)]
        what = f"release: {source_name(others[0])} is of {plans[0]}, {' and '.join(new.ids)} of {plans[1]}"
        raise UsageError(what, "give sweeps or runs of the same plan")
    names = {run.name for run in base.runs}
    if both := [run.name for run in new.runs if run.name in names]:
        raise UsageError(f"release: {both[0]} is both --new and --base", "give the runs of two releases")
    return {
        plan: with_pooled(compare_levels(base.sweeps[plan], new.sweeps[plan], thresholds, anyway=anyway), thresholds)
        for plan in base.sweeps
    }
