"""The sweeps of two releases of a system, compared level by level: what a release page is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from harness.base.errors import UsageError
from harness.compare.comparison import Comparison
from harness.plan.thresholds import Thresholds
from harness.release.around import Around
from harness.release.infrastructure import Infrastructure
from harness.release.sides import Runs, Sides
from harness.report.summary import RunSummary
from harness.sweep.analysis import SweepAnalysis, analyse
from harness.sweep.level_verdicts import compare_levels
from harness.sweep.levels import Sweep
from harness.sweep.pairs import SweepComparison
from harness.sweep.record import SweepRecord
from harness.sweep.sources import FoundSweep


@dataclass(frozen=True)
class Release:
    """A release (`new`) against an earlier one (`base`): two sweeps of one plan.

    `names` are the short names on the page. `whole` has the verdict over all levels, `levels` the comparison of the
    runs of each common level, and `runs` the results of all runs of both sweeps; the last two are by users. `long` is a
    longer run of the new release, if one was given.
    `infrastructures` and `arounds` (metrics before and after the sweeps) are included as far as they are known.
    """

    base: FoundSweep
    new: FoundSweep
    names: Sides[str]
    whole: SweepComparison
    levels: Mapping[int, Comparison]
    runs: Sides[Runs]
    long: RunSummary | None = None
    infrastructures: Sides[Infrastructure | None] = field(default_factory=lambda: Sides(None, None))
    arounds: Sides[Around] = field(default_factory=lambda: Sides(Around(), Around()))

    @property
    def sweeps(self) -> Sides[Sweep]:
        """The sweeps of base and new."""
        return Sides(self.base.sweep, self.new.sweep)

    @cached_property
    def analyses(self) -> Sides[SweepAnalysis]:
        """The analyses of base and new, each with its own goal."""
        return Sides(*(analyse(sweep.levels, sweep.goal) for sweep in self.sweeps))


def release_of(
    baseline: FoundSweep, contender: FoundSweep, thresholds: Thresholds, *, anyway: bool, long: RunSummary | None = None
) -> Release:
    """Return the release. UsageError for sweeps of different plans, or without a common level.

    With `anyway`, runs that are DOUBTFUL or differ in load are judged, too.
    """
    baseline_plan, plan = record_of(baseline).plan, record_of(contender).plan
    if baseline_plan != plan:
        what = f"release: {baseline.sweep.name} is a sweep of {baseline_plan}, {contender.sweep.name} of {plan}"
        raise UsageError(what, "give two sweeps of the same plan")
    if record_of(baseline) == record_of(contender):
        raise UsageError(f"release: {contender.sweep.name} is both --new and --base", "give the sweeps of two releases")
    if long is not None and long.run is not None and long.run.plan != plan:
        what = f"release: {long.source} is a run of {long.run.plan}, the sweeps are of {plan}"
        raise UsageError(what, "give a run of the same plan with --long, or none")
    compared = compare_levels(baseline, contender, thresholds, anyway=anyway)
    levels = {key.users: comparison for key, comparison in compared.levels.items()}
    runs = Sides(
        *({key.users: found for key, found in side.items()} for side in (compared.baseline, compared.contender))
    )
    return Release(baseline, contender, _names(baseline, contender), compared.whole, levels, runs, long)


def record_of(found: FoundSweep) -> SweepRecord:
    """Return the record of a sweep over users. UsageError for a sweep over a setting, and for runs or published
    figures, which have no record.
    """
    if found.sweep.is_of_setting:
        raise UsageError(f"release: {found.sweep.name} is a sweep over {found.sweep.setting}", "give sweeps over users")
    if found.sweep.record is None or found.report is None:
        what = f"release: {found.sweep.name} is no stored sweep"
        raise UsageError(what, "give a sweep such as folio-checkin/sweep-01: make sweep")
    return found.sweep.record


def _names(baseline: FoundSweep, contender: FoundSweep) -> Sides[str]:
    """Return the names on the page: given titles, else sweep-01 without the plan."""
    given = Sides(baseline.sweep.name, contender.sweep.name)
    records = (record_of(baseline), record_of(contender))
    short = Sides(*(one.name if one.id == name else name for one, name in zip(records, given, strict=True)))
    return given if short.base == short.new else short
