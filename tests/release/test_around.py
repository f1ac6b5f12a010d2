"""The minutes before and after a sweep: never those of another level, nor of the warm-up."""

from __future__ import annotations

from dataclasses import replace

from harness.cloudwatch.points import read_cloudwatch
from harness.metrics.window import Window
from harness.release.around import Around, around_tables, grown, intervals_of
from harness.sweep.levels import Figures, LevelRun, Sweep, levels_of
from tests.support.factories import record
from tests.support.sweeps import SWEEP_RECORD

HEAD = "time_s,period_s,kind,resource,metric,statistic,value,status"


def test_the_intervals_end_before_the_warm_up_and_begin_after_the_last_run():
    runs = [
        record(started_at="2026-01-01T01:00:00Z", took_s=100.0),
        record(started_at="2026-01-01T01:02:00Z", took_s=100.0),
    ]
    levels = levels_of((users, LevelRun("x", Figures(), record=run)) for users, run in enumerate(runs, start=1))
    before, after = intervals_of(Sweep("x", levels, replace(SWEEP_RECORD, warm_up_s=30.0))).values()
    one_am_s = 1_767_229_200  # 2026-01-01T01:00:00Z
    # 30 s of warm-up and two minutes for starting come before the first run.
    assert (before.from_s, before.to_s) == (one_am_s - 150 - 600, one_am_s - 150)
    assert (after.from_s, after.to_s) == (one_am_s + 120 + 100, one_am_s + 220 + 600)


def test_a_sweep_whose_runs_did_not_end_has_no_intervals():
    levels = levels_of([(1, LevelRun("x", Figures(), record=record(ended_at=None)))])
    assert intervals_of(Sweep("x", levels, SWEEP_RECORD)) == {}


def metrics(*percents: float):
    rows = [
        f"{60 * at},60,ecs,perf/okapi,memory_ratio,average,{value / 100},Complete" for at, value in enumerate(percents)
    ]
    return read_cloudwatch([HEAD, *rows], 0, Window.whole(600))


def test_averages_before_and_after_are_side_by_side_and_unknown_ones_are_na():
    (memory,) = around_tables([("new", Around(metrics(40, 50), None)), ("old", Around())])
    assert memory.title == "memory %"
    assert memory.table.splitlines()[0] == "| resource | new before | new after |"
    assert memory.table.splitlines()[2] == "| ECS perf/okapi | 45.0 | n/a |"


def test_memory_that_grew_by_more_than_a_twentieth_is_named_and_less_is_not():
    assert grown(Around(metrics(50), metrics(53))) == ["ECS perf/okapi 50.0 → 53.0 %"]
    assert grown(Around(metrics(50), metrics(52))) == []
    assert grown(Around(metrics(50), None)) == []
