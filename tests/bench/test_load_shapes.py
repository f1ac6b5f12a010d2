"""The simulated loads against queueing theory, and their verdicts; `make bench BENCH=window` has 200 runs of each."""

import numpy
import pytest

from bench.statistics.known_noise import found_ratio
from bench.statistics.load_factors import constant, exponential
from bench.statistics.load_shapes import BAD, BASES, GOOD, OVERLOADED, Case
from bench.statistics.row_changes import labels_in_turn
from bench.statistics.simulated_files import START_MS, tally_of
from bench.statistics.simulated_load import Load
from bench.statistics.window import outcomes, summaries
from harness.jtl.sample import Sample
from harness.judge.verdict import DOUBTFUL, INVALID, VALID
from harness.metrics.interval import IntervalMs
from harness.metrics.tally import Scope
from tests.support.weekly import often

pytestmark = pytest.mark.real  # seconds of CPU

# One of each length: 2, 5 and 20 minutes.
RUNS = 3
# `make test` has the easiest and the hardest system, the weekly tests have all.
QUICK = ("20 users, 50 ms", "open queue, half busy")
SYSTEMS = [base if base in QUICK else pytest.param(base, marks=pytest.mark.counterpart) for base in BASES]


def rows_of(load, length_s):
    return load.runs(numpy.random.default_rng(1), 1, length_s)[0][0]


def mean_s(load, length_s=4000.0):
    rows = rows_of(load, length_s)
    return float((rows.end_s - rows.start_s).mean())


def sample_of(rows, at):
    return Sample(
        start_ms=START_MS + round(rows.start_s[at] * 1000),
        elapsed_ms=round((rows.end_s[at] - rows.start_s[at]) * 1000),
        label=rows.labels[rows.label[at]],
        code="500" if rows.failed[at] else "200",
        message="Internal Server Error" if rows.failed[at] else "OK",
        thread_name=f"Users 1-{rows.user[at] + 1}",
        success=not rows.failed[at],
        failure="",
        received_bytes=int(rows.size[at]),
        sent_bytes=100,
        all_threads=int(rows.active[at]),
        error_count=int(rows.failed[at]),
    )


@pytest.mark.parametrize("load", [Load(exponential(0.8), 7, 0.5), Load(exponential(0.3), rate_per_s=9, server_count=3)])
def test_counting_with_numpy_is_counting_row_by_row(load):
    random = numpy.random.default_rng(5)
    rows = labels_in_turn(3)(rows_of(load, 60.0), random, 60.0)
    rows.failed[:] = random.random(len(rows.failed)) < 0.2
    for window_ms, batch_count in ((None, 0), (IntervalMs(START_MS + 10_000, START_MS + 50_000), 10)):
        scope = Scope(window_ms=window_ms, batch_count=batch_count, with_timeline=False)
        expected, found = scope.tally(), tally_of(rows, scope)
        for at in range(len(rows.user)):
            expected.add(sample_of(rows, at))
        assert found.groups() == expected.groups()
        assert found.code_counts() == expected.code_counts()
        span = expected.second_series.span_s
        assert found.second_series.span_s == span
        if span:
            assert found.second_series.by_second(*span) == expected.second_series.by_second(*span)
            assert found.row_count == expected.row_count
            assert found.back_ms == expected.back_ms


@pytest.mark.counterpart
def test_an_open_queue_takes_as_long_as_theory_says():
    # M/M/1 with 40 requests served per second: 1 / (40 - 20) s.
    assert mean_s(Load(exponential(0.025), rate_per_s=20, server_count=1)) == pytest.approx(0.05, rel=0.05)


@pytest.mark.counterpart
def test_two_servers_take_as_long_as_theory_says():
    # M/M/2 at 80 %: service ÷ (1 - 0.8²).
    assert mean_s(Load(exponential(0.05), rate_per_s=32, server_count=2)) == pytest.approx(0.05 / 0.36, rel=0.08)


@pytest.mark.counterpart
@pytest.mark.parametrize("is_shared", [False, True])
def test_a_saturated_system_takes_as_long_as_users_divided_by_throughput(is_shared):
    load = Load(exponential(0.05), 40, server_count=1, is_shared=is_shared, ramp_s=1.0)
    assert mean_s(load, 1000.0) == pytest.approx(40 * 0.05, rel=0.05)


@pytest.mark.counterpart
def test_a_shared_processor_takes_as_long_as_theory_says():
    # M/G/1 with shared processor: the same mean as M/M/1, whatever the distribution of the work.
    load = Load(constant(0.025), 2000, 99.95, is_shared=True, ramp_s=100.0)
    assert mean_s(load) == pytest.approx(0.05, rel=0.05)


def test_nothing_is_answered_during_a_pause():
    load = Load(exponential(0.01), 5, ramp_s=1.0, pauses=lambda _random, _length_s: [(10.0, 14.0)])
    rows = rows_of(load, 30.0)
    assert not ((rows.end_s > 10.0001) & (rows.end_s < 14.0)).any()
    assert (rows.end_s - rows.start_s).max() > 4.0


@pytest.mark.counterpart
def test_good_loads_of_all_shapes_are_valid():
    """At most 1 % are not: 3 of 144 would be 2 %."""
    states = [one.state for name, case in GOOD.items() for one in outcomes(name, case, RUNS)]
    assert sum(state != VALID for state in states) <= 0.03 * len(states)


@pytest.mark.real
@pytest.mark.parametrize("base", SYSTEMS)
@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("slower for 20 % of the run", "× 10"),
        ("one stall", "10 % of the run"),
        ("errors from 60 % of the run on", "5 %"),
        *(
            pytest.param(kind, size, marks=pytest.mark.counterpart)
            for kind, size in (
                *((f"slower for {ratio} % of the run", "× 4") for ratio in (20, 40)),
                ("slower for 40 % of the run", "× 10"),
                *(("redirects beside their requests", size) for size in ("10 %", "100 %")),
                *(("slower and slower after 50 % of the run", size) for size in ("to × 2", "to × 3")),
                ("one stall", "20 % of the run"),
                ("errors from 60 % of the run on", "20 %"),
                *(("sizes become larger from 50 % on", size) for size in ("× 1.2", "× 2")),
            )
        ),
    ],
)
def test_what_happens_in_part_of_a_run_is_found_however_large(base, kind, size):
    runs = summaries(f"{base}: {kind}", BAD[kind][size](BASES[base]), RUNS)
    assert [summary.verdict.state for summary, _ in runs] == [DOUBTFUL] * RUNS


@pytest.mark.counterpart
def test_a_stall_that_the_warm_up_hides_is_a_doubt():
    """In three of these eight runs MSER-5 cuts the stall of the first half; they were VALID."""
    size = "10 % of the run"
    case = BAD["one stall"][size](BASES["queue, half busy"])
    found = [summary for summary, _ in summaries(f"queue, half busy: one stall: {size}", case, 8)]
    assert [one.verdict.state for one in found] == [DOUBTFUL] * 8
    assert any("no sample ended from" in one.window.slow_down for one in found)


@pytest.mark.real
@pytest.mark.parametrize("size", often(2, OVERLOADED))
def test_an_open_load_above_the_capacity_is_never_valid(size):
    assert VALID not in [one.state for one in outcomes(size, OVERLOADED[size], RUNS)]


@pytest.mark.real
@pytest.mark.parametrize("base", SYSTEMS)
@pytest.mark.parametrize("size", often(1, ["10 %", "50 %", "90 %"]))
def test_rows_that_cannot_be_read_make_a_run_invalid(base, size):
    case = BAD["rows that cannot be read"][size](BASES[base])
    assert [one.state for one in outcomes(f"{base}: {size}", case, RUNS)] == [INVALID] * RUNS


@pytest.mark.counterpart
def test_a_test_with_known_noise_finds_a_step_and_seldom_one_in_noise():
    """Chance has 1 % at most: 2 of 60 would be 3 %."""
    base, random = BASES["queue, half busy"], numpy.random.default_rng(7)
    steps = BAD["slower after 60 % of the run"]
    ratios = [found_ratio(steps[size](base), base, random, 60, 120.0) for size in ("× 1.2", "× 1.5", "× 2")]
    assert ratios == sorted(ratios)
    assert ratios[0] < 0.9
    assert ratios[-1] == 1.0
    assert found_ratio(Case(base), base, random, 60, 120.0) <= 0.04
    # A busier system is noisier: what is certain for one that stays half busy is not for one that may be so always.
    busier = steps["× 1.5"](base)
    assert found_ratio(Case(busier.load), base, numpy.random.default_rng(8), 60, 120.0) >= ratios[1]
