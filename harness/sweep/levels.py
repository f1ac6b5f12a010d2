"""Combines the runs of one plan at several numbers of users, or values of a setting, into the levels of a sweep.

A level with repeats has the median of each value: one outlier does not move it, and percentiles are not averaged.
Samples and errors are added up. The share of errors is the mean of the runs, because a median would hide a single run
that failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import fmean, median
from typing import Any, NamedTuple

from harness.base.units import MS_PER_S
from harness.cloudwatch.points import CloudMetrics
from harness.judge.account import AccountLine
from harness.judge.verdict import DOUBTFUL, INTERRUPTED, INVALID, Verdict
from harness.judge.warnings import RunWarning, too_few_samples
from harness.metrics.batch_means import Between
from harness.metrics.metric import Table, metrics_of
from harness.metrics.window import Window
from harness.plan.goal import Goal
from harness.plan.load import CLOSED
from harness.report.run_result import LabelResult, RunResult
from harness.run.record import RunRecord
from harness.run.telemetry.processes import GENERATOR, NOT_SYSTEM
from harness.run.telemetry.table import Usage
from harness.sweep.goal_intervals import scatter_of_repeats
from harness.sweep.record import SweepRecord, level_text
from harness.system.flight_recording import RecordedUse
from harness.system.heap import HeapUse
from harness.system.profile import ProcessProfile
from harness.system.statements import DatabaseUse


@dataclass(frozen=True)
class Figures:
    """The values of a run or a level; None when unknown.

    They are values of the measurement window, except errors, which are of the whole run, as in a plan's goal.
    `others` are further metrics of the list, by key. `slowest_label_ms` is the greatest average of a label. `cycle_ms`
    is users ÷ throughput, the time from one request of a user to the next.
    """

    sample_count: int | None = None
    rate_per_s: float | None = None
    average_ms: float | None = None
    percentiles_ms: Mapping[str, float] = field(default_factory=dict)
    others: Mapping[str, float] = field(default_factory=dict)
    slowest_label_ms: float | None = None
    cycle_ms: float | None = None
    error_count: int | None = None
    error_ratio: float | None = None
    generator_cpu_cores: float | None = None
    system_cpu_cores: float | None = None

    @property
    def success_rate_per_s(self) -> float | None:
        """The throughput of successful samples (per s), or of all samples when errors are unknown."""
        return None if self.rate_per_s is None else self.rate_per_s * (1 - (self.error_ratio or 0.0))

    def of(self, key: str) -> float | None:
        """Return a value by its key, such as p90_ms or success_rate_per_s; None when unknown."""
        if key in _PERCENTILES:
            return self.percentiles_ms.get(_PERCENTILES[key])
        value: float | None = self.others.get(key) if key in _OTHERS else getattr(self, key)
        return value

    def to_plain(self) -> dict[str, float | None]:
        """Return the values by key, as JSON data."""
        return {key: self.of(key) for key in FIGURES}

    @classmethod
    def from_values(cls, values: Mapping[str, float]) -> Figures:
        """Return the figures with these values by key."""
        percentiles = {_PERCENTILES[key]: value for key, value in values.items() if key in _PERCENTILES}
        others = {key: value for key, value in values.items() if key in _OTHERS}
        own: dict[str, Any] = {key: values[key] for key in values.keys() - _PERCENTILES.keys() - _OTHERS.keys()}
        return cls(percentiles_ms=percentiles, others=others, **own)


_PERCENTILES = {metric.key: metric.percentile for metric in metrics_of(Table.SWEEP) if metric.percentile is not None}
_OTHERS = {
    metric.key: metric
    for metric in metrics_of(Table.SWEEP)
    if metric.percentile is None and metric.key not in (one.name for one in fields(Figures))
}
_SEVERAL: Mapping[str, Iterable[str]] = {"percentiles_ms": _PERCENTILES, "others": _OTHERS}
_TIMES = ("average_ms", *_PERCENTILES)
# In the order of CSV and JSON.
FIGURES = tuple(key for one in fields(Figures) for key in _SEVERAL.get(one.name, [one.name]))
_COUNTS = ("sample_count", "error_count")
_TOO_FEW_SAMPLES = too_few_samples.WARNING.brief.partition(":")[0].lower()


@dataclass(frozen=True)
class LevelRun:
    """A run at a level. Published figures have no verdict, record, warnings or resource usage.

    `total` contains the samples of the main load in the window, for confidence intervals; `labels` are its labels.
    `setting` is the value of the swept setting, such as delay_ms=20; empty in a sweep over users.
    """

    name: str
    figures: Figures
    verdict: Verdict | None = None
    record: RunRecord | None = None
    warnings: tuple[RunWarning, ...] = ()
    usages: tuple[Usage, ...] = ()
    cloudwatch: CloudMetrics | None = None
    total: LabelResult | None = None
    labels: tuple[LabelResult, ...] = ()
    profiles: tuple[ProcessProfile, ...] = ()
    setting: str = ""
    heap_uses: tuple[HeapUse, ...] = ()
    recorded: tuple[RecordedUse, ...] = ()
    databases: tuple[DatabaseUse, ...] = ()
    account: tuple[AccountLine, ...] = ()
    window: Window | None = None

    @property
    def is_invalid(self) -> bool:
        """Whether it is INVALID."""
        return self.verdict is not None and self.verdict.state == INVALID

    @property
    def warning_codes(self) -> tuple[str, ...]:
        """The codes of its warnings."""
        return tuple(warning.code for warning in self.warnings)

    @property
    def doubtful_reasons(self) -> tuple[str, ...]:
        """The reasons of the verdict DOUBTFUL, without too few samples; empty for another verdict."""
        if self.verdict is None or self.verdict.state != DOUBTFUL:
            return ()
        # Earlier versions began it with a small letter.
        return tuple(one for one in self.verdict.reasons if not one.lower().startswith(_TOO_FEW_SAMPLES))


class LevelKey(NamedTuple):
    """What distinguishes the levels of a sweep: users, and the value of the swept setting, such as delay_ms=20."""

    users: int
    setting: str = ""

    @property
    def text(self) -> str:
        """The level in a sentence: 5 users, or delay_ms=20."""
        return level_text(self.users, self.setting)

    @property
    def value(self) -> str:
        """Its users, or the value of the setting, as the cell of a table."""
        return self.setting.partition("=")[2] or str(self.users)


class LevelRange(NamedTuple):
    """The least and the greatest value of repeats, in the unit of the figure."""

    least: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> LevelRange | None:
        """Return the range of the values of the runs of a level; None with fewer than two."""
        return cls(min(values), max(values)) if len(values) > 1 else None


@dataclass(frozen=True)
class Level:
    """The runs at one number of users or one value of a setting; without counted runs all `figures` are None.

    `scatter` is how much runs of one level differ, by figure, from the repeats of all levels of its sweep.
    """

    users: int
    figures: Figures
    runs: tuple[LevelRun, ...]
    scatter: Mapping[str, Between] = field(default_factory=dict)

    @property
    def setting(self) -> str:
        """The value of the swept setting, such as delay_ms=20; empty in a sweep over users."""
        return self.runs[0].setting if self.runs else ""

    @property
    def key(self) -> LevelKey:
        """What distinguishes it from other levels."""
        return LevelKey(self.users, self.setting)

    @property
    def value(self) -> str:
        """Its users, or the value of the setting, as the cell of a table."""
        return self.key.value

    @property
    def text(self) -> str:
        """The level in a sentence: 5 users, or delay_ms=20."""
        return self.key.text

    @property
    def counted(self) -> tuple[LevelRun, ...]:
        """The counted runs: neither INVALID nor INTERRUPTED."""
        return tuple(run for run in self.runs if run.verdict is None or run.verdict.state not in (INVALID, INTERRUPTED))

    @property
    def invalid(self) -> tuple[LevelRun, ...]:
        """The runs that are INVALID."""
        return tuple(run for run in self.runs if run.is_invalid)

    @property
    def doubtful(self) -> tuple[LevelRun, ...]:
        """The runs that are DOUBTFUL for another reason than too few samples, which the intervals take into account."""
        return tuple(run for run in self.counted if run.doubtful_reasons)

    def range_of(self, figure: str) -> LevelRange | None:
        """Return the least and greatest value over the counted runs; None with fewer than two."""
        return LevelRange.of(_known(run.figures for run in self.counted)[figure])

    def success_rates_per_s(self) -> list[float]:
        """Return the throughput (per s) of each counted run."""
        return [rate for run in self.counted if (rate := run.figures.success_rate_per_s) is not None]


@dataclass(frozen=True)
class Sweep:
    """Levels sorted by users or by the values of a setting; `record` is None for single runs and published figures.

    `missing_users` are planned levels without a readable run, `missing_settings` those of a sweep over a setting.
    `remarks` are problems in the data that was read. With `label` the figures are those of this label, and not of
    TOTAL.
    """

    name: str
    levels: tuple[Level, ...]
    record: SweepRecord | None = None
    missing_users: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()
    label: str = ""
    missing_settings: tuple[str, ...] = ()

    @property
    def setting(self) -> str:
        """The name of the setting whose values are its levels, all with the same users; empty in a sweep over users."""
        settings = [level.setting for level in self.levels] or list(self.record.values if self.record else ())
        return settings[0].partition("=")[0] if settings else ""

    @property
    def is_of_setting(self) -> bool:
        """Whether its levels are values of a setting."""
        return bool(self.setting)

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
        """The goal of the sweep, else of its runs; None without one, with different ones, and for a label."""
        if self.label:
            return None
        if self.record is not None and self.record.goal is not None:
            return self.record.goal
        goals = {record.goal for record in self.records}
        return goals.pop() if len(goals) == 1 else None


def level_run(result: RunResult) -> LevelRun:
    """Return a run of a level from the run's result."""
    total, whole = result.total, result.whole or result.total
    figures = Figures()
    if total is not None and whole is not None:
        averages = (label.average_ms for label in result.labels if label.average_ms is not None)
        users = result.run.load.users if result.run and result.run.load.model == CLOSED else None
        cycle_ms = users * MS_PER_S / total.rate_per_s if users and total.rate_per_s else None
        figures = replace(figures_of(total, whole), slowest_label_ms=max(averages, default=None), cycle_ms=cycle_ms)
    generator_cores = next((usage.cpu_cores_mean for usage in result.usages if usage.process == GENERATOR), None)
    cores = [usage.cpu_cores_mean for usage in result.usages if usage.process not in NOT_SYSTEM]
    system_cores = sum(cores) if cores else None
    return LevelRun(
        name=result.name,
        figures=replace(figures, generator_cpu_cores=generator_cores, system_cpu_cores=system_cores),
        verdict=result.verdict,
        record=result.run,
        warnings=result.warnings,
        usages=result.usages,
        cloudwatch=result.cloudwatch,
        total=total,
        labels=result.labels,
        profiles=result.profiles,
        heap_uses=result.heap_uses,
        recorded=result.recorded,
        databases=result.databases,
        account=result.account,
        window=result.window,
    )


def figures_of(total: LabelResult, errors: LabelResult) -> Figures:
    """Return the figures of TOTAL or of a label, with the errors of `errors`."""
    return Figures(
        sample_count=total.sample_count,
        rate_per_s=total.rate_per_s,
        average_ms=total.average_ms,
        percentiles_ms={
            text: total.percentiles_ms[text] for text in _PERCENTILES.values() if text in total.percentiles_ms
        },
        others={key: value for key, metric in _OTHERS.items() if (value := metric.of(total)) is not None},
        error_count=errors.error_count,
        error_ratio=errors.error_ratio,
    )


def level_head(levels: Sequence[Level]) -> str:
    """Return the title of a column with the values of levels: users, or the name of the setting."""
    return (levels[0].setting.partition("=")[0] if levels else "") or "users"


def levels_of(runs: Iterable[tuple[int, LevelRun]]) -> tuple[Level, ...]:
    """Return the levels of (users, run) pairs, sorted by users and by the values of their setting.

    Values that are not all numbers, and the runs of a level, stay in order.
    """
    by_level: dict[LevelKey, list[LevelRun]] = {}
    for users, run in runs:
        by_level.setdefault(LevelKey(users, run.setting), []).append(run)
    levels = [Level(key.users, Figures(), tuple(found)) for key, found in by_level.items()]
    scatter = _scatter_of(levels)
    levels = [
        replace(level, figures=middle([run.figures for run in level.counted]), scatter=scatter) for level in levels
    ]
    numbers = numbers_of([level.value for level in levels if level.setting])
    by_setting = dict(zip((level.setting for level in levels if level.setting), numbers or [], strict=False))
    return tuple(sorted(levels, key=lambda level: (level.users, by_setting.get(level.setting, 0.0))))


def _scatter_of(levels: Sequence[Level]) -> Mapping[str, Between]:
    """Return how much runs of one level differ, by figure; without those that no level was measured twice for."""
    known = [_known(run.figures for run in level.counted) for level in levels if len(level.counted) > 1]
    found = {figure: scatter_of_repeats(values[figure] for values in known) for figure in _TIMES}
    return {figure: scatter for figure, scatter in found.items() if scatter}


def numbers_of(values: Sequence[str]) -> list[float] | None:
    """Return the values of a setting as numbers from 0; None when one of them is none."""
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return None
    return numbers if all(0 <= number < float("inf") for number in numbers) else None


def middle(runs: Sequence[Figures]) -> Figures:
    """Return the figures of a level, or of a label in it, from those of its runs.

    None when no run has the value; a sum is None when any run lacks it.
    """
    values: dict[str, float] = {}
    for name, known in _known(runs).items():
        if name in _COUNTS:
            if known and len(known) == len(runs):
                values[name] = sum(known)
        elif known:
            values[name] = fmean(known) if name == "error_ratio" else median(known)
    return Figures.from_values(values)


def _known(runs: Iterable[Figures]) -> dict[str, list[float]]:
    listed = list(runs)
    return {name: [value for run in listed if (value := run.of(name)) is not None] for name in FIGURES}
