"""Computes the differences between two sweeps level by level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import ClassVar

from harness.base.units import percent_text, plural, signed_percent
from harness.compare.comparison import CANNOT_TELL, INVALID
from harness.judge.account import AccountLine
from harness.metrics.metric import Table, metric_of, metrics_of
from harness.plan.goal import metric_text
from harness.report.first_screen import shortest
from harness.sweep.levels import Level, LevelKey, Sweep

# Between single runs, a smaller difference of averages is irrelevant.
SAME_RATIO = 0.05
# Verdicts after which no direction may be claimed.
_UNKNOWN = (CANNOT_TELL, INVALID)
COMPARED = tuple(metric for metric in metrics_of(Table.SWEEP) if not metric.is_share)


@dataclass(frozen=True)
class Delta:
    """One value of one level on both sides; `delta_ratio` is (new - base) / base, None when one of them is unknown.

    `setting` is the value of the swept setting, such as delay_ms=20; empty in sweeps over users.
    """

    users: int
    base: float | None
    new: float | None
    delta_ratio: float | None
    setting: str = ""
    optional: ClassVar = ("setting",)

    @property
    def key(self) -> LevelKey:
        """The level."""
        return LevelKey(self.users, self.setting)


@dataclass(frozen=True)
class FigureComparison:
    """A value at all common levels: median, least and greatest difference, None without any."""

    figure: str
    deltas: tuple[Delta, ...]
    median_ratio: float | None
    low_ratio: float | None
    high_ratio: float | None

    @property
    def level_count(self) -> int:
        """The number of levels with a known value on both sides."""
        return sum(delta.delta_ratio is not None for delta in self.deltas)


@dataclass(frozen=True)
class LevelVerdict:
    """The verdict on a level's runs with its reason; `is_repeated` when both sides have several runs.

    `is_doubtful` when a run is DOUBTFUL, `other_work` is how the work of the sides differs: such a level is shown, but
    excluded from the verdict over all levels. `setting` is as in Delta.
    """

    users: int
    verdict: str
    reason: str
    is_repeated: bool = False
    is_doubtful: bool = False
    setting: str = ""
    other_work: str = ""
    optional: ClassVar = ("setting", "other_work")

    @property
    def key(self) -> LevelKey:
        """The level."""
        return LevelKey(self.users, self.setting)


@dataclass(frozen=True)
class SweepComparison:
    """All values that both sweeps have; `only_base` and `only_new` are users of levels of one side only, of sweeps over
    a setting `only_base_settings` and `only_new_settings` its values.
    `is_doubtful` when a run of a common level is DOUBTFUL or INVALID.

    When the runs were compared, too, `verdicts` has the levels, `verdict` and `reason` are those over all levels,
    `warnings` are those of the runs, and `accounts` are those of the runs by name, and of both sides by level.
    """

    base: str
    new: str
    figures: tuple[FigureComparison, ...]
    only_base: tuple[int, ...]
    only_new: tuple[int, ...]
    verdicts: tuple[LevelVerdict, ...] = ()
    verdict: str = ""
    reason: str = ""
    warnings: tuple[str, ...] = ()
    only_base_settings: tuple[str, ...] = ()
    only_new_settings: tuple[str, ...] = ()
    is_doubtful: bool = False
    accounts: Mapping[str, Sequence[AccountLine]] = field(default_factory=dict)
    json_keys: ClassVar = {"warnings": "caveats"}
    optional: ClassVar = ("only_base_settings", "only_new_settings", "is_doubtful", "accounts")


def compare_sweeps(baseline: Sweep, contender: Sweep) -> SweepComparison:
    """Return the differences at the common levels; they are unknown at levels with an INVALID run."""
    baseline_levels, contender_levels = (
        {level.key: level for level in sweep.levels} for sweep in (baseline, contender)
    )
    common = [key for key in baseline_levels if key in contender_levels]
    figures = [
        _figure(metric.key, [_delta(metric.key, baseline_levels[key], contender_levels[key]) for key in common])
        for metric in COMPARED
    ]
    only_baseline, only_contender = (
        [key for key in one if key not in other]
        for one, other in ((baseline_levels, contender_levels), (contender_levels, baseline_levels))
    )
    return SweepComparison(
        base=baseline.name,
        new=contender.name,
        figures=tuple(figure for figure in figures if figure.level_count),
        only_base=tuple(key.users for key in only_baseline if not key.setting),
        only_new=tuple(key.users for key in only_contender if not key.setting),
        only_base_settings=tuple(key.setting for key in only_baseline if key.setting),
        only_new_settings=tuple(key.setting for key in only_contender if key.setting),
        is_doubtful=any(
            level.doubtful or level.invalid for key in common for level in (baseline_levels[key], contender_levels[key])
        ),
    )


def _figure(name: str, deltas: Sequence[Delta]) -> FigureComparison:
    known = [delta.delta_ratio for delta in deltas if delta.delta_ratio is not None]
    middle = median(known) if known else None
    return FigureComparison(name, tuple(deltas), middle, min(known, default=None), max(known, default=None))


def _delta(name: str, baseline: Level, contender: Level) -> Delta:
    baseline_value, contender_value = (
        None if level.invalid else level.figures.of(name) for level in (baseline, contender)
    )
    return Delta(
        baseline.users,
        baseline_value,
        contender_value,
        (contender_value - baseline_value) / baseline_value if baseline_value and contender_value is not None else None,
        baseline.setting,
    )


def headline(comparison: SweepComparison) -> str:
    """Return the verdict over all levels with its reason, if the runs were compared, and the range of differences."""
    verdict, reason = comparison.verdict, comparison.reason
    figure = comparison.figures[0] if comparison.figures else None
    if not verdict:
        return sentence(comparison, figure) if figure else "No value of both sweeps is known."
    seen = f" Seen: {_figure_text(figure, verdict)}." if figure else ""
    return shortest(f"{verdict}: {reason}.{seen}", f"{verdict}.{seen}" if seen else verdict)


def _figure_text(figure: FigureComparison, verdict: str) -> str:
    """Return the differences over the levels: average -0.6 to +14.6 % over 4 levels."""
    text = range_text(figure, verdict)
    return f"{metric_text(metric_of(figure.figure))} {text} over {plural(figure.level_count, 'level')}"


def range_text(figure: FigureComparison, verdict: str) -> str:
    """Return the range of differences over the levels: -0.6 to +14.6 %; without a verdict within ±14.6 %."""
    low, high = figure.low_ratio, figure.high_ratio
    if low is None or high is None:
        return "unknown"
    if verdict in _UNKNOWN:
        return f"within ±{percent_text(max(abs(low), abs(high)), 1)} %"
    ends = dict.fromkeys(signed_percent(end, 1) for end in (low, high))
    return f"{' to '.join(ends)} %"


def sentence(comparison: SweepComparison, figure: FigureComparison) -> str:
    """Return the range of differences over the levels in one sentence, widened to whole percent.

    Without a direction when the verdict is CANNOT TELL or a run is DOUBTFUL.
    """
    low, high = figure.low_ratio, figure.high_ratio
    assert low is not None and high is not None
    metric = metric_of(figure.figure)
    levels = plural(figure.level_count, "level")
    if comparison.verdict in _UNKNOWN or (comparison.is_doubtful and not comparison.verdict):
        return f"{CANNOT_TELL} whether {comparison.new} differs. Seen: {_figure_text(figure, CANNOT_TELL)}."
    over = f"({metric_text(metric)}, {levels})"
    more, less = ("higher", "lower") if metric.more_is_better else ("slower", "faster")
    nearest, farthest = sorted((abs(low), abs(high)))
    if farthest <= SAME_RATIO:
        return f"{comparison.new} is within {_up(farthest)} % of {comparison.base} at every level {over}."
    if low < 0 < high:
        span = f"between {_up(-low)} % {less} and {_up(high)} % {more}"
        return f"{comparison.new} is {span} than {comparison.base} {over}."
    direction = more if low >= 0 else less
    first, last = math.floor(nearest * 100 + 1e-9), _up(farthest)
    size = f"about {first} to {last} %" if first != last else f"about {last} %"
    return f"{comparison.new} is {size} {direction} than {comparison.base} {over}."


def _up(ratio: float) -> int:
    return math.ceil(ratio * 100 - 1e-9)
