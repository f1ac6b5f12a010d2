"""The trend of memory on a release page: when the reservation is reached, or that it is unknown."""

from __future__ import annotations

from random import Random

import pytest

from harness.cloudwatch.points import WITHIN, CloudMetric, CloudMetrics
from harness.metrics.resource_growth import GROWS, STEADY
from harness.metrics.window import Window
from harness.release.memory import MemoryTrend, trends
from tests.support.releases import release_of_results
from tests.support.results import label_result, run_result

RUN_S = 3600


def trend(per_hour: float, run_s: int = RUN_S) -> MemoryTrend:
    """Return the trend of a service whose memory begins at 40 % of its reservation."""
    random = Random(7)
    seconds = tuple(float(at) for at in range(30, run_s, 60))
    ratios = tuple(0.4 + per_hour * at / 3600 + random.gauss(0, 0.002) for at in seconds)
    metric = CloudMetric("ecs", "perf/mod-circulation", "memory_ratio", len(seconds), len(seconds), 0, True, 0.5, 0.4,
                         0.7, seconds, ratios)  # fmt: skip
    cloud = CloudMetrics(60, 0, run_s, WITHIN, (metric,))
    new = run_result("new", label_result(), cloudwatch=cloud, window=Window.whole(run_s))
    (found,) = trends(release_of_results({5: [run_result("base", label_result())]}, {5: [new]}))
    return found


def test_a_service_that_grows_has_a_forecast_of_its_reservation_with_an_interval():
    found = trend(0.3)
    (growth,) = found.growths
    assert growth.verdict == GROWS
    # From 70 % on, 30 % of the reservation are left at 30 % per hour.
    assert growth.left_h == pytest.approx(1.0, abs=0.1)
    assert growth.left_low_h < growth.left_h < growth.left_high_h
    assert found.sentence == "new: 1 resource grows."


def test_a_service_that_does_not_grow_has_no_forecast():
    found = trend(0.0)
    assert [one.verdict for one in found.growths] == [STEADY]
    assert found.growths[0].left_h is None
    assert found.sentence == "new: no resource grows beyond chance."


def test_a_short_run_says_that_nothing_is_known():
    assert trend(0.3, 300).sentence == "new: unknown, its window is shorter than 10 min. --long=RUN adds a longer run."
