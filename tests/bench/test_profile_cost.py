"""The cost of a profile: parts of one load with and without it, in pairs."""

import pytest

from bench.runs.jmeter_load import Slice
from bench.runs.profile import cost_of
from harness.base.errors import StartError
from harness.metrics.interval import IntervalMs


def part(from_s, cpu_s):
    return Slice(IntervalMs(from_s * 1000, (from_s + 10) * 1000), cpu_s)


@pytest.fixture
def samples_of(tmp_path):
    """Return a function that writes a JTL with 100 samples that end in each second, with the given elapsed time."""

    def write(*elapsed_by_second):
        rows = [
            f"{second * 1000 + 500 - elapsed_ms},{elapsed_ms}\n"
            for second, elapsed_ms in elapsed_by_second
            for _ in range(100)
        ]
        path = tmp_path / "samples.jtl"
        path.write_text("".join(["timeStamp,elapsed\n", *rows]))
        return path

    return write


def test_the_cost_is_the_change_between_the_parts_of_a_pair(samples_of):
    # The machine is half as fast in the second pair; samples between the parts do not count.
    base, profiled = [part(0, 0.010), part(60, 0.020)], [part(20, 0.011), part(40, 0.022)]
    samples = samples_of((5, 10), (25, 11), (45, 22), (65, 20), (15, 500), (70, 500))
    cost = cost_of(base, profiled, samples, 3.04)
    assert (cost.cpu_us.low_ratio, cost.cpu_us.high_ratio) == (pytest.approx(0.1), pytest.approx(0.1))
    assert cost.mean_ms.change_ratio == pytest.approx(0.1)
    assert cost.rate_per_s.base == pytest.approx(10)
    assert cost.cpu_us.base == pytest.approx((100 * 200) ** 0.5)
    assert "takes 3.0 s of CPU time once" in cost.text()
    assert (cost.aim.measured, cost.aim.is_met) == ("+10.0 %", False)


def test_a_small_cost_meets_the_aim(samples_of):
    samples = samples_of((5, 10), (25, 10), (45, 10), (65, 10))
    cost = cost_of([part(0, 0.01), part(60, 0.0101)], [part(20, 0.0102), part(40, 0.01)], samples, 1.0)
    assert cost.aim.is_met


def test_a_part_without_samples_is_an_error(samples_of):
    with pytest.raises(StartError, match="a slice of the load has no samples"):
        cost_of([part(0, 0.01)], [part(20, 0.01)], samples_of((5, 10)), 1.0)
