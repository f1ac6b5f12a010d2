"""A sweep: runs of one plan at rising users, put together as levels.

Of repeats a level has the median of each figure: one run that went astray does not move it, and percentiles are not
averaged. Samples and errors are added up, and the share of errors is the runs' mean: a median would hide the one run
that failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from statistics import fmean, median
from typing import Any

from harness.base.units import MS_PER_S
from harness.cloudwatch.points import CloudMetrics
from harness.compare.result import LabelResult, RunResult
from harness.metrics.metric import Table, metrics_of
from harness.plan.goal import Goal
from harness.report.verdict import DOUBTFUL, INTERRUPTED, INVALID, Verdict
from harness.report.warnings import WarningCode
from harness.run.record import RunRecord
from harness.run.telemetry import GENERATOR, HARNESS, HOST, Usage
from harness.sweep.record import SweepRecord


@dataclass(frozen=True)
class Figures:
    """What is known of a run or of a level; None where the source does not say.

    All are of the seconds that are counted, but errors: these are of the whole run, as a plan's goal has them.
    `slowest_label_ms` is the greatest average of a label; `cycle_ms` is users ÷ throughput, the time from one request
    of a user to the next.
    """

    sample_count: int | None = None
    rate_per_s: float | None = None
    average_ms: float | None = None
    percentiles_ms: Mapping[str, float] = field(default_factory=dict)
    slowest_label_ms: float | None = None
    cycle_ms: float | None = None
    error_count: int | None = None
    error_ratio: float | None = None
    generator_cpu_cores: float | None = None
    system_cpu_cores: float | None = None

    @property
    def success_rate_per_s(self) -> float | None:
        """The throughput of what succeeded (per s); where errors are not known that of all."""
        return None if self.rate_per_s is None else self.rate_per_s * (1 - (self.error_ratio or 0.0))

    def of(self, key: str) -> float | None:
        """Return a figure by its key, such as p90_ms or success_rate_per_s; None when it is not known."""
        value: float | None = self.percentiles_ms.get(_PERCENTILES[key]) if key in _PERCENTILES else getattr(self, key)
        return value

    def to_json(self) -> dict[str, float | None]:
        """Return plain data: the figures by their keys."""
        return {key: self.of(key) for key in FIGURES}

    @classmethod
    def from_values(cls, values: Mapping[str, float]) -> Figures:
        """Return the figures of values by their keys."""
        percentiles = {_PERCENTILES[key]: value for key, value in values.items() if key in _PERCENTILES}
        others: dict[str, Any] = {key: value for key, value in values.items() if key not in _PERCENTILES}
        return cls(percentiles_ms=percentiles, **others)


_PERCENTILES = {metric.key: metric.percentile for metric in metrics_of(Table.SWEEP) if metric.percentile is not None}
# In the order of CSV and JSON.
FIGURES = tuple(
    key for one in fields(Figures) for key in (_PERCENTILES if one.name == "percentiles_ms" else [one.name])
)
_COUNTS = ("sample_count", "error_count")


@dataclass(frozen=True)
class LevelRun:
    """One run at a level; of published figures there is no verdict, no record, no warning and no use of resources.

    `total` are the load's counts in the window, which intervals are made of.
    """

    name: str
    figures: Figures
    verdict: Verdict | None = None
    record: RunRecord | None = None
    warning_codes: tuple[str, ...] = ()
    usages: tuple[Usage, ...] = ()
    cloudwatch: CloudMetrics | None = None
    total: LabelResult | None = None

    @property
    def doubtful_reasons(self) -> tuple[str, ...]:
        """Why its figures may not be the system's, but for few samples; empty when it is not DOUBTFUL."""
        if self.verdict is None or self.verdict.state != DOUBTFUL:
            return ()
        return tuple(reason for reason in self.verdict.reasons if reason != WarningCode.TOO_FEW_SAMPLES.brief)


@dataclass(frozen=True)
class Level:
    """The runs at one number of users; `figures` are those of the runs that count, all None when none does."""

    users: int
    figures: Figures
    runs: tuple[LevelRun, ...]

    @property
    def counted(self) -> tuple[LevelRun, ...]:
        """The runs that the figures are made of: neither INVALID nor INTERRUPTED."""
        return tuple(run for run in self.runs if run.verdict is None or run.verdict.state not in (INVALID, INTERRUPTED))

    @property
    def invalid(self) -> tuple[LevelRun, ...]:
        """The runs that are INVALID."""
        return tuple(run for run in self.runs if run.verdict is not None and run.verdict.state == INVALID)

    @property
    def doubtful(self) -> tuple[LevelRun, ...]:
        """The runs that are DOUBTFUL for another reason than that they have few samples: intervals judge these."""
        return tuple(run for run in self.counted if run.doubtful_reasons)

    def range_of(self, figure: str) -> tuple[float, float] | None:
        """Return the least and the greatest of a figure over the runs that count; None with fewer than two."""
        values = _known(run.figures for run in self.counted)[figure]
        return (min(values), max(values)) if len(values) > 1 else None

    def success_rates_per_s(self) -> list[float]:
        """Return the throughput (per s) of each run that counts."""
        rates = (run.figures.success_rate_per_s for run in self.counted)
        return [rate for rate in rates if rate is not None]


@dataclass(frozen=True)
class Sweep:
    """Levels by rising users; `record` is None of runs that no sweep made, and of figures of others.

    `missing_users` are the levels that the sweep was to have and has not; `remarks` say what was read in an odd way.
    """

    name: str
    levels: tuple[Level, ...]
    record: SweepRecord | None = None
    missing_users: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[LevelRun, ...]:
        """All runs, by users."""
        return tuple(run for level in self.levels for run in level.runs)

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """The records of the runs that have one, by users."""
        return tuple(run.record for run in self.runs if run.record is not None)

    @property
    def goal(self) -> Goal | None:
        """The goal of the sweep, else of its runs; None when there is none or the runs differ in it."""
        if self.record is not None and self.record.goal is not None:
            return self.record.goal
        goals = {record.goal for record in self.records}
        return goals.pop() if len(goals) == 1 else None


def level_run(result: RunResult) -> LevelRun:
    """Return what a sweep needs of a run's result."""
    total, whole = result.total, result.whole or result.total
    generator, system = _cpu_cores(result.usages)
    figures = Figures(generator_cpu_cores=generator, system_cpu_cores=system)
    if total is not None and whole is not None:
        figures = Figures(
            sample_count=total.sample_count,
            rate_per_s=total.rate_per_s,
            average_ms=total.average_ms,
            percentiles_ms={
                text: total.percentiles_ms[text] for text in _PERCENTILES.values() if text in total.percentiles_ms
            },
            slowest_label_ms=max(
                (label.average_ms for label in result.labels if label.average_ms is not None), default=None
            ),
            cycle_ms=_cycle_ms(result.run, total.rate_per_s),
            error_count=whole.error_count,
            error_ratio=whole.error_ratio,
            generator_cpu_cores=generator,
            system_cpu_cores=system,
        )
    codes = tuple(warning.code for warning in result.warnings)
    return LevelRun(result.name, figures, result.verdict, result.run, codes, result.usages, result.cloudwatch, total)


def _cycle_ms(run: RunRecord | None, rate_per_s: float | None) -> float | None:
    users = run.load.users if run else None
    return users * MS_PER_S / rate_per_s if users and rate_per_s else None


def _cpu_cores(usages: Iterable[Usage]) -> tuple[float | None, float | None]:
    """Return the mean CPU (cores) of the generator, and of all processes of the system; None of what was not seen."""
    by_process = {usage.process: usage.cpu_cores_mean for usage in usages}
    system = [cores for process, cores in by_process.items() if process not in (GENERATOR, HARNESS, HOST)]
    return by_process.get(GENERATOR), sum(system) if system else None


def levels_of(runs: Iterable[tuple[int, LevelRun]]) -> tuple[Level, ...]:
    """Return the levels of (users, run), by rising users; the runs of a level stay in their order."""
    by_users: dict[int, list[LevelRun]] = {}
    for users, run in runs:
        by_users.setdefault(users, []).append(run)
    return tuple(_level(users, by_users[users]) for users in sorted(by_users))


def _level(users: int, runs: Sequence[LevelRun]) -> Level:
    level = Level(users, Figures(), tuple(runs))
    return Level(users, _middle([run.figures for run in level.counted]), level.runs)


def _middle(runs: Sequence[Figures]) -> Figures:
    """Return the figures of a level; a figure that no run has is None, and so is a sum that a run has no part for."""
    values: dict[str, float] = {}
    for name, known in _known(runs).items():
        if name in _COUNTS:
            if known and len(known) == len(runs):
                values[name] = sum(known)
        elif known:
            values[name] = fmean(known) if name == "error_ratio" else median(known)
    return Figures.from_values(values)


def _known(runs: Iterable[Figures]) -> dict[str, list[float]]:
    """Return per figure the values that are known."""
    listed = list(runs)
    return {name: [value for run in listed if (value := run.of(name)) is not None] for name in FIGURES}
