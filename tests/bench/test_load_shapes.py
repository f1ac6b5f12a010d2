"""The simulated loads against queueing theory, and their verdicts; `make bench BENCH=window` has 200 runs of each."""

from random import Random
from statistics import fmean

import pytest

from bench.statistics.load_shapes import BAD, BASES, GOOD, Load, exponential
from bench.statistics.window import summaries
from harness.judge.verdict import VALID

# One of 120 s and one of 300 s.
RUNS = 2


def mean_s(load, length_s=4000.0):
    answers = load.run(Random(1), length_s).answers
    return fmean(one.end_s - one.start_s for one in answers)


@pytest.mark.real
def test_an_open_queue_takes_as_long_as_theory_says():
    # M/M/1 with 40 requests served per second: 1 / (40 - 20) s.
    assert mean_s(Load(exponential(0.025), rate_per_s=20, server_count=1)) == pytest.approx(0.05, rel=0.05)


@pytest.mark.real
def test_two_servers_take_as_long_as_theory_says():
    # M/M/2 at 80 %: service ÷ (1 - 0.8²).
    assert mean_s(Load(exponential(0.05), rate_per_s=32, server_count=2)) == pytest.approx(0.05 / 0.36, rel=0.08)


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_saturated_system_takes_as_long_as_users_divided_by_throughput(is_shared):
    load = Load(exponential(0.05), 40, server_count=1, is_shared=is_shared, ramp_s=1.0)
    assert mean_s(load, 1000.0) == pytest.approx(40 * 0.05, rel=0.05)


@pytest.mark.real
def test_a_shared_processor_takes_as_long_as_theory_says():
    # M/G/1 with shared processor: the same mean as M/M/1, whatever the distribution of the work.
    load = Load(lambda _random: 0.025, rate_per_s=20, is_shared=True)
    assert mean_s(load) == pytest.approx(0.05, rel=0.05)


def test_nothing_is_answered_during_a_pause():
    load = Load(exponential(0.01), 5, ramp_s=1.0, pauses=lambda _random, _length_s: [(10.0, 14.0)])
    answers = load.run(Random(1), 30.0).answers
    assert not [one for one in answers if 10.0 < one.end_s < 14.0]
    assert max(one.end_s - one.start_s for one in answers) > 4.0


@pytest.mark.counterpart
@pytest.mark.real
def test_good_loads_of_all_shapes_are_valid():
    """At most 3 % are not: 1 of 58. If 10 % were, 2 or more of 58 have a probability of 98 %."""
    states = [summary.verdict.state for name, load in GOOD.items() for summary, _ in summaries(name, load, RUNS)]
    assert sum(state != VALID for state in states) <= 0.03 * len(states)


@pytest.mark.real
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(
    ("kind", "size"),
    [
        *((f"slower for {ratio} % of the run", size) for ratio in (20, 40) for size in ("× 2", "× 4", "× 10")),
        *(("slower and slower after 50 % of the run", size) for size in ("to × 2", "to × 3")),
        *(("five stalls", f"{ratio} % of the run") for ratio in (10, 20, 40)),
    ],
)
def test_what_happens_in_part_of_a_run_is_found_however_large(base, kind, size):
    runs = summaries(f"{base}: {kind}", BAD[kind][size](BASES[base]), RUNS)
    assert [summary.verdict.state for summary, _ in runs] == ["DOUBTFUL"] * RUNS
