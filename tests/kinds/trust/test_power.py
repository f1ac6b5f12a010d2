"""What an A/B test sees of a benchmark, the cheapest one, and false alarms of single runs."""

import math

import numpy
import pytest

from harness.kinds.trust.power import (
    DEVIATIONS_FOUND,
    Costs,
    Way,
    change_text,
    false_alarms,
    least_change,
    slow_power,
    ways,
)
from harness.metrics.batch_means import log_change
from harness.metrics.batch_means import mean as mean_of_batches
from tests.support.weekly import often

COSTS = Costs(length_s=70.0, window_s=60.0, overhead_s=10.0)


def test_the_rule_of_ab_finds_nothing_with_fewer_than_six_pairs():
    assert [least_change(0.01**2, pairs) for pairs in (1, 4, 5)] == [None] * 3
    least = math.expm1(DEVIATIONS_FOUND[6] * math.sqrt(2) * 0.01)
    assert [least_change(0.01**2, pairs) for pairs in (6, 7)] == pytest.approx([least, least])


def test_a_test_needs_runs_as_long_as_the_scatter_within_them_demands():
    # Eight pairs must have a run variance of (ln 1.05 / 2.02)² / 2 = 2.917e-4, of which 1e-4 is between runs: 1.917e-4
    # remain. A window of 60 s has 9e-4, so 281.7 s are needed, and the 10 s that are no window: 300 s in steps of 30 s.
    found = {way.pairs: way for way in ways(1e-4, 9e-4, COSTS, 0.05)}
    assert found[8] == Way(8, 300.0, 17 * 310.0)
    assert found[8].text == "8 pairs of 5 min (1 h 28 min)"
    # Ten pairs: (ln 1.05 / 1.58)² / 2 = 4.768e-4, so 143.3 s.
    assert found[10] == Way(10, 180.0, 21 * 190.0)
    # Six: (ln 1.05 / 3.03)² / 2 = 1.296e-4, so 1,822 s.
    assert found[6].length_s == 1860.0
    assert [way.pairs for way in ways(1e-4, 9e-4, COSTS, 0.05)] == [10, 8, 6]


def test_no_length_helps_when_runs_differ_too_much_and_a_short_one_is_never_proposed():
    assert ways(1e-2, 0.0, COSTS, 0.05) == ()
    assert ways(4.7e-4, 9e-4, COSTS, 0.05) == ()  # ten pairs of more than an hour
    assert {way.length_s for way in ways(0.0, 0.0, COSTS, 0.05)} == {60.0}
    assert {way.length_s for way in ways(0.0, 0.0, COSTS, 0.05, window_least_s=400.0)} == {420.0}


def test_a_change_must_exceed_the_resolution_of_the_clock():
    assert least_change(0.0, 8, step=0.02) == pytest.approx(math.expm1(0.02))
    assert ways(0.0, 0.0, COSTS, 0.05, step=0.05) == ()
    # ln 1.05 - 0.02 = 0.02879 are left: for eight pairs (0.02879 / 2.02)² / 2 = 1.016e-4, so 9e-4 need 531.6 s.
    found = {way.pairs: way.length_s for way in ways(0.0, 9e-4, COSTS, 0.05, step=0.02)}
    assert found[8] == 570.0


def test_a_change_is_written_as_short_as_possible():
    assert [change_text(ratio) for ratio in (0.05, 0.025, 0.5)] == ["5 %", "2.5 %", "50 %"]


@pytest.mark.real
@pytest.mark.parametrize(("between", "threshold"), often(1, [(0.03, 0.05), (0.05, 0.05), (0.05, 0.10)]))
def test_false_alarms_of_single_runs_are_those_of_simulated_ones(between, threshold):
    random, within, count, alarms = numpy.random.default_rng(1), 0.01, 4000, 0
    for _ in range(count):
        sides = []
        for start in random.normal(0.0, between, 2):
            batches = 100 * math.exp(start) * (1 + random.normal(0.0, within * math.sqrt(20), 20))
            sides.append(mean_of_batches(list(map(float, batches))))
        low = log_change(*sides).low
        assert low is not None
        alarms += math.expm1(low) > threshold
    # The standard deviation of the share is at most 0.5 points; the simulated errors are estimated, and larger by 10 %.
    assert false_alarms(between**2 + within**2, within**2, threshold) == pytest.approx(alarms / count, abs=0.025)
    assert false_alarms(0.0, 0.0, threshold) == 0.0


def test_the_power_with_slow_starts_is_computed_from_the_scatter_and_the_size_of_these():
    # Eight pairs find 2.02 standard deviations of their differences in 80 %.
    stated = 2.02 * math.sqrt(2) * 0.02
    assert slow_power(stated, 0.02, 0.1, 0.0, 8) == pytest.approx(0.8, abs=0.001)
    powers = [slow_power(stated, 0.02, slow, 0.1, 8) for slow in (0.0, 0.05, 0.2)]
    assert powers[0] > powers[1] > powers[2]
