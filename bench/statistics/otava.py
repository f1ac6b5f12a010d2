"""Defines the histories for the comparison with Apache Otava, and the expected results.

Otava 0.8.0 has a defect: when its merge removes a change point, it recomputes the sizes of the two change points after
it, but not of the one before it, whose interval has changed, too. If the results differ for this reason, Otava's result
must be exactly ours with this defect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from harness.compare.conditions import Conditions
from harness.history.change_points import (
    LEAST_RATIO,
    P_MOST,
    ChangePoint,
    change_at,
    change_points,
    magnitude,
    possible_changes,
    weak_indexes,
)
from harness.history.series import HistoryLine, Point
from harness.judge.verdict import VALID
from harness.metrics.figures import TOTAL
from harness.plan.load import CLOSED
from harness.plan.load.model import LoadRecord
from harness.report.run_result import LabelResult

SAME, SLIP, OTHER = "same", "same but for Otava's slip", "DIFFERS"
METRIC = "average_ms"
_FIRST_DAY = date(2020, 1, 1)
_RANDOM_COUNT = 40
# Otava prints six decimals.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Answer:
    """A change point in Otava's output: its index, and the means of the values before and after."""

    index: int
    before: float
    after: float


def histories(seed: int) -> Iterator[tuple[str, list[float]]]:
    """Yield named histories (ms); a seed always gives the same ones."""
    random = np.random.default_rng(seed)

    def noisy(*levels: tuple[float, int], cv: float = 0.03) -> list[float]:
        return [float(level * (1 + cv * random.standard_normal())) for level, count in levels for _ in range(count)]

    yield "60 runs, nothing changed", noisy((100, 60))
    yield "+20 % after 40 runs", noisy((100, 40), (120, 20))
    yield "+20 % two runs ago", noisy((100, 40), (120, 2))
    yield "+20 % and back", noisy((100, 25), (120, 10), (100, 25))
    yield "+6 % at CV 1 %", noisy((100, 30), (106, 30), cv=0.01)
    yield "three steps of +8 %", noisy((100, 20), (108, 20), (116.6, 20), (126, 20))
    yield "ten runs", noisy((100, 6), (130, 4))
    yield "whole ms about 9", [float(round(value)) for value in noisy((9, 30), (11, 30), cv=0.05)]
    yield "no noise at all", [100.0] * 20 + [107.0] * 20
    yield "a year, five changes", noisy((100, 80), (112, 60), (95, 70), (105, 50), (130, 60), (110, 45))
    outliers = noisy((100, 60))
    outliers[17] = outliers[41] = 180.0
    yield "two outliers", outliers
    yield "slow drift", [value * (1 + index / 300) for index, value in enumerate(noisy((100, 90)))]
    for number in range(1, _RANDOM_COUNT + 1):
        count = int(random.integers(5, 150))
        tail = random.standard_t(3, count)
        steps = np.where(random.random(count) < 0.04, random.choice([0.85, 0.92, 1.08, 1.2], count), 1.0)
        yield f"random {number}, heavy tails", [float(value) for value in 100 * np.cumprod(steps) * (1 + 0.02 * tail)]


def line_of(values: Sequence[float]) -> HistoryLine:
    """Return the history as a line with one run per day, for the usual export."""
    load = LoadRecord(CLOSED, 10, None, 1.0, 60.0, None, 0.0)
    points = [
        Point(
            run=f"run-01_{number + 1}",
            date=f"{_FIRST_DAY + timedelta(number)}",
            started_at=f"{_FIRST_DAY + timedelta(number)}T00:00:00Z",
            git_commit=None,
            verdict=VALID,
            is_valid=True,
            figures=LabelResult(TOTAL, 1000, 0, 0.0, value, {}, None, None, 10.0, None),
            value=value,
            median_before=None,
            change_ratio=None,
        )
        for number, value in enumerate(values)
    ]
    return HistoryLine(Conditions(load, "simulated", "none", 1, 1.0, None), tuple(points))


def otava_config(files: Mapping[str, str]) -> str:
    """Return Otava's configuration (YAML) with a test for each file, by name."""
    lines = ["tests:"]
    for name, path in files.items():
        lines += [
            f"  {name}:",
            "    type: csv",
            f"    file: {path}",
            "    time_column: time",
            f"    metrics: [{METRIC}]",
        ]
        lines += ["    attributes: [run]"]
    return "\n".join(lines) + "\n"


def verdict(values: Sequence[float], answers: Sequence[Answer]) -> str:
    """Return whether Otava's results are ours, ours with its defect, or others."""
    if _are_equal(change_points(values), answers):
        return SAME
    return SLIP if _are_equal(_with_defect(values), answers) else OTHER


def _are_equal(changes: Sequence[ChangePoint], answers: Sequence[Answer]) -> bool:
    return [change.index for change in changes] == [answer.index for answer in answers] and all(
        abs(ours - theirs) <= _ROUNDING
        for change, answer in zip(changes, answers, strict=True)
        for ours, theirs in ((change.before, answer.before), (change.after, answer.after))
    )


def _with_defect(values: Sequence[float]) -> list[ChangePoint]:
    series = np.asarray(values, dtype=float)
    found = [change_at(series, *one) for one in possible_changes(sorted(weak_indexes(series)), len(series))]
    while found:
        weakest = max(found, key=lambda change: change.p_value)
        if weakest.p_value < P_MOST:
            weakest = min(found, key=magnitude)
            if magnitude(weakest) > LEAST_RATIO:
                break
        index = found.index(weakest)
        del found[index]
        possible = possible_changes([change.index for change in found], len(series))
        for after in (index, index + 1):
            if after < len(found):
                found[after] = change_at(series, *possible[after])
    return found
