"""The sweeps of two releases of a system, compared level by level: what a release page is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from harness.base.errors import UsageError
from harness.compare.outcome import Comparison
from harness.compare.result import RunResult
from harness.plan.thresholds import Thresholds
from harness.release.around import Around
from harness.release.infrastructure import Infrastructure
from harness.release.sides import Sides
from harness.report.summary import RunSummary
from harness.sweep.analysis import SweepAnalysis, analyse
from harness.sweep.level_verdicts import ComparedLevels, compare_levels
from harness.sweep.levels import Sweep
from harness.sweep.pairs import SweepComparison
from harness.sweep.record import SweepRecord
from harness.sweep.sources import FoundSweep


@dataclass(frozen=True)
class ComparedUsers:
    """Two compared sweeps over users: as ComparedLevels, by users."""

    whole: SweepComparison
    levels: Mapping[int, Comparison]
    base: Mapping[int, Sequence[RunResult]]
    new: Mapping[int, Sequence[RunResult]]

    @property
    def runs(self) -> Sides[Mapping[int, Sequence[RunResult]]]:
        """The results of the runs of both sweeps, by users."""
        return Sides(self.base, self.new)

    @classmethod
    def of(cls, found: ComparedLevels) -> ComparedUsers:
        """Return the comparison of two sweeps over users."""
        levels = {key.users: comparison for key, comparison in found.levels.items()}
        base, new = ({key.users: runs for key, runs in side.items()} for side in (found.base, found.new))
        return cls(found.whole, levels, base, new)


@dataclass(frozen=True)
class Release:
    """A release (`new`) against an earlier one (`base`): two sweeps of one plan.

    `names` are the short names on the page. `long` is a longer run of the new release, if one was given.
    `infrastructures` and `arounds` (metrics before and after the sweeps) are included as far as they are known.
    """

    base: FoundSweep
    new: FoundSweep
    names: Sides[str]
    compared: ComparedUsers
    long: RunSummary | None = None
    infrastructures: Sides[Infrastructure | None] = field(default_factory=lambda: Sides(None, None))
    arounds: Sides[Around] = field(default_factory=lambda: Sides(Around(), Around()))

    @property
    def levels(self) -> Mapping[int, Comparison]:
        """The comparison of the runs of each common level, by users."""
        return self.compared.levels

    @property
    def sweeps(self) -> Sides[Sweep]:
        """The sweeps of base and new."""
        return Sides(self.base.sweep, self.new.sweep)

    @cached_property
    def analyses(self) -> Sides[SweepAnalysis]:
        """The analyses of base and new, each with its own goal."""
        return Sides(*(analyse(sweep.levels, sweep.goal) for sweep in self.sweeps))


def release_of(
    base: FoundSweep, new: FoundSweep, thresholds: Thresholds, *, anyway: bool, long: RunSummary | None = None
) -> Release:
    """Return the release. UsageError for sweeps of different plans, or without a common level.

    With `anyway`, runs that are DOUBTFUL or differ in load are judged, too.
    """
    earlier_plan, plan = record_of(base).plan, record_of(new).plan
    if earlier_plan != plan:
        raise UsageError(
            f"release: {base.sweep.name} is a sweep of {earlier_plan}, {new.sweep.name} of {plan}",
            "give two sweeps of the same plan",
        )
    if record_of(base) == record_of(new):
        raise UsageError(f"release: {new.sweep.name} is both --new and --base", "give the sweeps of two releases")
    if long is not None and long.run is not None and long.run.plan != plan:
        raise UsageError(
            f"release: {long.source} is a run of {long.run.plan}, the sweeps are of {plan}",
            "give a run of the same plan with --long, or none",
        )
    compared = ComparedUsers.of(compare_levels(base, new, thresholds, anyway=anyway))
    return Release(base, new, _names(base, new), compared, long)


def record_of(found: FoundSweep) -> SweepRecord:
    """Return the record of a sweep over users. UsageError for a sweep over a setting, and for runs or published
    figures, which have no record.
    """
    if found.sweep.is_of_setting:
        raise UsageError(f"release: {found.sweep.name} is a sweep over {found.sweep.setting}", "give sweeps over users")
    if found.sweep.record is None or found.report is None:
        raise UsageError(
            f"release: {found.sweep.name} is no stored sweep", "give a sweep such as folio-checkin/sweep-01: make sweep"
        )
    return found.sweep.record


def _names(base: FoundSweep, new: FoundSweep) -> Sides[str]:
    """Return the names on the page: given titles, else sweep-01 without the plan."""
    short = Sides(_short_name(base), _short_name(new))
    return Sides(base.sweep.name, new.sweep.name) if short.base == short.new else short


def _short_name(found: FoundSweep) -> str:
    record = record_of(found)
    return record.name if record.id == found.sweep.name else found.sweep.name
