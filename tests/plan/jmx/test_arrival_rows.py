"""The rows of returning users let all of them arrive in a Free-Form Arrivals Thread Group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from harness.plan.jmx.arrival_rows import ArrivalRow, arrival_rows
from harness.plan.load.groups import GroupLoad, Stage


def arrivals(rows: Sequence[ArrivalRow]) -> Iterator[float]:
    """Yield when users arrive (s), as FreeFormArrivalsThreadStarter of casutg 2.10 computes it."""

    def rate_at(second: float) -> float:
        begin_s = 0
        for row in rows:
            if second <= begin_s + row.length_s:
                return row.begin + (second - begin_s) / row.length_s * (row.end - row.begin)
            begin_s += row.length_s
        return -1.0

    now_s = 0.0
    while (rate := rate_at(now_s)) >= 0:
        if rate:
            yield now_s
        now_s += 1 / rate if rate else 0.2


@pytest.mark.parametrize(
    "stages",
    [
        [(1.0, 40, 15)],
        [(10.0, 5, 22)],
        [(0.05, 300, 60), (5.0, 30, 0)],
        [(0.1, 0, 25), (10.0, 0, 30)],
        [(10.0, 0, 20), (0.0, 10, 5), (10.0, 0, 20)],
        [(0.2, 0, 10), (5.0, 20, 10), (0.1, 20, 0), (8.0, 0, 10)],
        [(100.0, 2, 5)],
    ],
)
def test_each_stage_has_its_arrivals(stages: list[tuple[float, float, float]]) -> None:
    load = GroupLoad("Shop", tuple(Stage(None, *stage) for stage in stages))
    came = list(arrivals(arrival_rows(load.stages)))
    begin_s, levels = 0.0, [0.0, *(stage.level for stage in load.stages)]
    for stage, (before, level) in zip(load.stages, pairwise(levels), strict=True):
        end_s = begin_s + stage.over_s + stage.for_s
        asked = (before + level) / 2 * stage.over_s + level * stage.for_s
        made = sum(begin_s <= at_s < end_s for at_s in came)
        assert abs(made - asked) <= 2 + 0.4 * max(before, level)
        begin_s = end_s


def test_a_fast_constant_rate_is_one_row() -> None:
    assert arrival_rows([Stage(None, 2.5, 0.0, 3600.0)]) == [(2.5, 2.5, 3600)]
