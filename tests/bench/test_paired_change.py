"""The change between values that were measured in pairs."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from bench.runs.paired_change import paired_change
from bench.runs.paired_runs import cpu_us
from harness.base.errors import StartError

pytestmark = pytest.mark.real


def test_the_interval_is_that_of_a_paired_t_test_of_the_logarithms() -> None:
    from scipy import stats  # here, because each worker that collects the tests would load it

    base, new = [40.0, 44.0, 50.0, 41.0], [42.0, 45.0, 53.0, 42.5]
    found = paired_change(base, new)
    outside = stats.ttest_rel([math.log(value) for value in new], [math.log(value) for value in base])
    low, high = outside.confidence_interval(0.95)
    assert found.low_ratio == pytest.approx(math.exp(low) - 1)
    assert found.high_ratio == pytest.approx(math.exp(high) - 1)
    assert found.change_ratio == pytest.approx(stats.gmean(new) / stats.gmean(base) - 1)


def test_the_cpu_time_per_sample_is_that_of_jmeter() -> None:
    cores = {"jmeter": 0.5, "balancer": 0.25, "harness": 0.1, "host": 1.2, "stolen": 0.1}
    usages = [SimpleNamespace(process=name, cpu_cores_mean=value) for name, value in cores.items()]
    run = SimpleNamespace(name="run-01_1", usages=usages, total=SimpleNamespace(rate_per_s=1_000.0))
    assert cpu_us(run) == pytest.approx(500)
    run.usages = usages[1:]
    with pytest.raises(StartError, match="the CPU time of JMeter is not known"):
        cpu_us(run)


def test_a_drift_that_both_runs_of_a_pair_meet_is_no_scatter() -> None:
    base = [40.0, 50.0, 60.0, 70.0]
    found = paired_change(base, [value * 1.02 for value in base])
    assert (found.low_ratio, found.high_ratio) == (pytest.approx(0.02), pytest.approx(0.02))
    assert found.change_text == "+2.0 % (95 % interval +2.0 % to +2.0 %, 4 pairs)"
