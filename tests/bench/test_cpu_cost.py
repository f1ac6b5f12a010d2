"""The CPU time per sample of paired runs."""

from __future__ import annotations

import math

import pytest

from bench.cpu_cost import cpu_cost

pytestmark = pytest.mark.real


def test_the_interval_is_that_of_a_paired_t_test_of_the_logarithms() -> None:
    from scipy import stats  # here, because each worker that collects the tests would load it

    base, new = [40.0, 44.0, 50.0, 41.0], [42.0, 45.0, 53.0, 42.5]
    found = cpu_cost(base, new)
    outside = stats.ttest_rel([math.log(value) for value in new], [math.log(value) for value in base])
    low, high = outside.confidence_interval(0.95)
    assert found.low_ratio == pytest.approx(math.exp(low) - 1)
    assert found.high_ratio == pytest.approx(math.exp(high) - 1)
    assert found.change_ratio == pytest.approx(stats.gmean(new) / stats.gmean(base) - 1)


def test_a_drift_that_both_runs_of_a_pair_meet_is_no_scatter() -> None:
    base = [40.0, 50.0, 60.0, 70.0]
    found = cpu_cost(base, [value * 1.02 for value in base])
    assert (found.low_ratio, found.high_ratio) == (pytest.approx(0.02), pytest.approx(0.02))
    assert found.text() == (
        "CPU of JMeter per sample: 53.84 µs without, 54.91 µs with: +2.0 % (95 % interval +2.0 % to +2.0 %, 4 pairs)"
    )
