"""The stages of the load, and the seconds of the levels that are counted."""

from harness.kinds.overload.levels import OFFERED_RATIOS, counted_levels, load_s, recovery_level, stages
from harness.plan.jmx.thread_groups import schedule


def test_the_load_rises_from_half_to_twice_the_capacity_and_falls_back():
    found = stages(20.0, 10)
    assert [stage.rate_per_s for stage in found] == [10, 10, 15, 20, 25, 30, 40, 10]
    assert [stage.for_s for stage in found] == [10, 10, 10, 10, 10, 10, 10, 50]
    assert {stage.over_s for stage in found} == {0}
    assert "random_arrivals(10 sec) rate(40/sec) rate(10/sec) random_arrivals(50 sec)" in schedule(found)


def test_the_warm_up_is_not_counted_and_the_levels_follow_each_other():
    found = counted_levels(10)
    assert [level.offered_ratio for level in found] == list(OFFERED_RATIOS)
    assert [(level.from_s, level.to_s) for level in found][:2] == [(10, 20), (20, 30)]
    assert found[-1].to_s == recovery_level(10).from_s == 70
    assert recovery_level(10).to_s == load_s(10) == 120
