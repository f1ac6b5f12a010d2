"""JMeter's variants: those of one round are compared, by the requests that ended in their slices."""

import pytest

from bench.runs.generator import BEFORE, CURRENT, Speed, cpu_aim, rate_aim, slice_speed, speeds_table
from bench.runs.jmeter_load import Slice
from harness.metrics.interval import IntervalMs


@pytest.fixture
def speeds():
    """Return speeds of three rounds; in the second one the machine was half as fast."""
    return {
        CURRENT: [Speed(40, 25_000), Speed(80, 12_500), Speed(44, 24_000)],
        BEFORE: [Speed(50, 20_000), Speed(100, 10_000), Speed(55, 19_200)],
    }


@pytest.mark.real
def test_changes_are_those_within_a_round(speeds):
    current, before = (line.split(" | ") for line in speeds_table(speeds).splitlines()[2:])
    assert current[1:] == ["52.0", "", "19574", " |"]
    interval = "95 % interval {0} to {0}, 3 pairs"
    assert before[2] == f"+25.0 % ({interval.format('+25.0 %')})"
    assert before[4] == f"-20.0 % ({interval.format('-20.0 %')}) |"


@pytest.mark.real
@pytest.mark.parametrize(("factor", "is_met"), [(1.0, False), (1.1, True)])
def test_the_aim_is_the_ratio_of_the_throughputs(speeds, factor, is_met):
    current = [Speed(one.cpu_us, factor * one.rate_per_s) for one in speeds[CURRENT]]
    assert rate_aim(current, speeds[BEFORE], "before").is_met is is_met


@pytest.mark.real
@pytest.mark.parametrize(("factor", "is_met"), [(0.8, False), (0.6, True)])
def test_the_aim_of_the_cpu_time_is_a_ratio_too(speeds, factor, is_met):
    current = [Speed(factor * one.cpu_us, one.rate_per_s) for one in speeds[BEFORE]]
    assert cpu_aim(current, speeds[BEFORE]).is_met is is_met


def test_a_slice_has_the_requests_that_end_in_it(tmp_path):
    path = tmp_path / "samples.jtl"
    rows = [(900, 50), (990, 20), (1200, 300), (1900, 99), (1999, 1), (2100, 10)]
    path.write_text("timeStamp,elapsed,label\n" + "".join(f'{at},{took},"a, b"\n' for at, took in rows) + "25")
    slices = [Slice(IntervalMs(1000, 2000), 0.0006), Slice(IntervalMs(2000, 3000), 0.0002)]
    assert slice_speed(path, slices) == Speed(pytest.approx(160), pytest.approx(2.5))
