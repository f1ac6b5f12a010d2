"""The scatter that is expected of runs, from earlier ones."""

from dataclasses import replace

import pytest

from harness.kinds.bisect.noise import noise_of
from harness.kinds.bisect.posterior import Noise
from harness.metrics.metric import metric_of
from tests.support.nightly_runs import entry

P90 = metric_of("p90")


def entries(*averages_ms: float):
    return [entry(number=number, average_ms=value) for number, value in enumerate(averages_ms, start=1)]


def test_neighbours_in_time_say_how_much_runs_scatter_and_a_trend_does_not_count():
    runs = entries(100.0, 104.0, 100.0, 104.0, 100.0, 104.0)
    load = runs[0].run.load
    # The logarithm of 1.04 is 0.0392; divided by 0.6745 and the root of 2 it is 0.0411.
    assert noise_of(runs, load, metric_of("average")).ratio == pytest.approx(0.0411, abs=0.0002)
    trend = noise_of(entries(100.0, 101.0, 102.0, 103.0, 104.0, 105.0), load, metric_of("average"))
    assert trend.ratio == pytest.approx(0.0103, abs=0.0003)
    assert trend.log_width == pytest.approx(1.2 / 5**0.5)


def test_few_runs_and_runs_of_another_load_say_nothing():
    runs = entries(100.0, 104.0, 100.0, 104.0, 100.0, 104.0)
    load = runs[0].run.load
    assert noise_of(runs[:4], load, metric_of("average")) == Noise()
    assert noise_of(runs, replace(load, users=99), metric_of("average")) == Noise()
    assert noise_of((), load, P90) == Noise()
