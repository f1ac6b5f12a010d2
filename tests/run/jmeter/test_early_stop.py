"""When a stop condition ends a run: second by second, without JMeter."""

import pytest

from harness.plan.load.groups import GroupLoad, SeveralLoads, Stage
from harness.plan.load.model import ClosedLoad, OpenLoad
from harness.plan.stop import parse_stop
from harness.run.jmeter.early_stop import EarlyStop
from tests.support.factories import failed, sample

TRANSACTION = "Number of samples in transaction : 1, number of failing samples : 0"
LOAD = ClosedLoad(users=2, ramp_s=3.0, duration_s=60.0, loops=None)
LOOPS = ClosedLoad(users=2, ramp_s=0.0, duration_s=None, loops=5)
GOOD, BAD, NONE = [sample()] * 10, [sample()] * 4 + [failed()] * 6, []


def stops_at(stop: str, seconds, load=LOAD, users=(), row_counts=()):
    """Return the second after which the run stops and why, (None, "") when it does not."""
    watch = EarlyStop(parse_stop(stop), load, ("Create",))
    for second, samples in enumerate(seconds):
        active = users[second] if users else 2
        rows = row_counts[second] if row_counts else len(samples)
        if why := watch.reason(100.0 + second, samples, rows, active):
            return second, why
    return None, ""


def test_errors_stop_a_run_when_every_second_of_that_time_had_too_many():
    when, why = stops_at("errors>50% for 3s", [GOOD, GOOD, BAD, BAD, BAD, BAD])
    assert when == 4  # the seconds 2, 3 and 4
    assert why == "errors above 50 % for 3 s; errors 60.00 % in the last second"


@pytest.mark.parametrize(
    "seconds",
    [
        [BAD, BAD, GOOD] * 5,  # one good second begins again
        [[sample()] * 5 + [failed()] * 5] * 10,  # not above the limit
        [[failed(thread_name="setUp 1-1")] * 9] * 10,
        [[failed(thread_name="tearDown 1-1")] * 9] * 10,
        [[failed("Create")] * 9] * 10,  # once per user
        [NONE] * 10,
        [BAD, NONE, NONE, NONE, NONE],  # one bad second, then silence
    ],
)
def test_errors_do_not_stop_a_run_otherwise(seconds):
    assert stops_at("errors>50% for 3s", seconds) == (None, "")


def test_a_second_without_samples_changes_nothing():
    assert stops_at("errors>50% for 3s", [BAD, NONE, NONE, BAD])[0] == 3
    assert stops_at("errors>50% for 3s", [BAD, NONE, GOOD, BAD]) == (None, "")


def test_transactions_do_not_count_beside_their_requests_but_alone():
    transaction = failed("Visit", message=TRANSACTION)
    assert stops_at("errors>50% for 2s", [[sample(), transaction, transaction]] * 9) == (None, "")
    assert stops_at("errors>50% for 2s", [[transaction]] * 9)[0] == 1


def test_times_stop_a_run_by_their_percentile_or_average_of_each_second():
    slow = [sample(elapsed_ms=100)] * 8 + [sample(elapsed_ms=6000)] * 2
    when, why = stops_at("p90>5s for 2s", [slow] * 5)
    assert (when, why) == (1, "p90 above 5000 ms for 2 s; p90 6000 ms in the last second")
    assert stops_at("p75>5s for 2s", [slow] * 5) == (None, "")
    assert stops_at("average>1279 for 2s", [slow] * 5)[0] == 1  # (8 · 100 + 2 · 6000) / 10 = 1280
    assert stops_at("average>1280 for 2s", [slow] * 5) == (None, "")


def test_throughput_stops_a_run_by_its_mean_after_the_ramp_up():
    # 10/s in the ramp of 3 s and 10 s after it, then 1/s: the mean of 4 s is below 5/s when three of them are slow.
    when, why = stops_at("throughput<5/s for 4s", [GOOD] * 14 + [[sample()]] * 10)
    assert (when, why) == (16, "throughput below 5 req/s for 4 s; throughput 3.25 req/s on average")
    slow_ramp = [[sample()]] * 3 + [GOOD] * 20
    assert stops_at("throughput<5/s for 4s", slow_ramp) == (None, "")


def test_throughput_is_not_watched_before_the_first_sample_and_after_the_duration():
    assert stops_at("throughput<5/s for 2s", [NONE] * 30) == (None, "")
    assert stops_at("throughput<5/s for 2s", [GOOD] * 60 + [NONE] * 30) == (None, "")
    assert stops_at("throughput<5/s for 2s", [GOOD] * 30 + [NONE] * 30)[0] == 31
    rate = OpenLoad(rate_per_s=10.0, ramp_s=0.0, duration_s=10.0)
    assert stops_at("throughput<5/s for 2s", [GOOD] * 10 + [NONE] * 9, rate) == (None, "")
    assert stops_at("throughput<5/s for 2s", [GOOD] * 5 + [NONE] * 9, rate)[0] == 6


def test_throughput_of_a_load_of_loops_is_watched_while_all_users_are_active():
    ends = [GOOD] * 5 + [[sample()]] * 9
    assert stops_at("throughput<5/s for 2s", ends, LOOPS, users=[2] * 14)[0] == 6
    assert stops_at("throughput<5/s for 2s", ends, LOOPS, users=[2] * 5 + [1] * 9) == (None, "")


def test_throughput_of_several_loads_is_watched_while_each_has_its_greatest_users():
    plain = GroupLoad("Browse", (Stage(5, None, 3, 57),))
    spike = GroupLoad("Buy", (Stage(1, None, 0, 10), Stage(9, None, 0, 20), Stage(1, None, 0, 30)))
    loads = SeveralLoads((plain, spike))
    few = [[sample()]]
    assert stops_at("throughput<5/s for 4s", few * 9 + [GOOD] * 21 + few * 30, loads) == (None, "")
    # The spike begins in the eleventh second; four of them end with the call 13, which is the fourteenth.
    assert stops_at("throughput<5/s for 4s", few * 60, loads)[0] == 13
    shorter = SeveralLoads((plain, GroupLoad("Buy", (Stage(1, None, 0, 10),))))
    assert stops_at("throughput<5/s for 4s", [GOOD] * 10 + few * 30, shorter) == (None, "")
    loops = SeveralLoads((GroupLoad("Browse", (Stage(2, None, 0, 0),), loops=5),))
    ends = [GOOD] * 5 + few * 9
    assert stops_at("throughput<5/s for 2s", ends, loops, users=[2] * 14)[0] == 6
    assert stops_at("throughput<5/s for 2s", ends, loops, users=[2] * 5 + [1] * 9) == (None, "")


def test_of_many_rows_a_part_is_read_and_scaled_up():
    part = [sample()] * 4
    assert stops_at("throughput<30/s for 2s", [part] * 9, row_counts=[40] * 9) == (None, "")
    assert stops_at("throughput<50/s for 2s", [part] * 9, row_counts=[40] * 9)[0] == 4  # the ramp-up, then two


def test_the_first_condition_that_is_met_is_the_reason():
    why = stops_at("p90>5s for 2s, errors>50% for 2s", [BAD] * 5)[1]
    assert why.startswith("errors above 50 % for 2 s")
