import pytest

from tests.support.factories import sample
from tests.support.summaries import warnings_of

# Ten users, a request of 100 ms each in every second.
LOAD = [sample(start_ms=1_000_000 + 1000 * second, all_threads=10) for second in range(200) for _ in range(10)]


@pytest.mark.parametrize("begins_s", [50, 190])
def test_the_wait_for_the_last_answer_is_named_with_the_throughput_before(begins_s):
    hung = sample(start_ms=1_000_000 + 1000 * begins_s, elapsed_ms=1000 * (300 - begins_s) - 100, all_threads=1)
    said = warnings_of([*LOAD, hung])["late-end"]
    assert said.startswith("The last 1 min 40 s are a wait for 1 answer, and the throughput")
    assert "before it was 10.00 req/s" in said


def test_a_stall_long_before_the_wait_does_not_hide_it():
    stalled_ms = range(1_100_000, 1_103_000)
    rest = [one for one in LOAD if one.end_ms not in stalled_ms]
    stalled = [sample(start_ms=stalled_ms[0], elapsed_ms=3000, all_threads=10) for _ in range(10)]
    said = warnings_of([*rest, *stalled, sample(start_ms=1_000_000, elapsed_ms=299_900, all_threads=1)])
    assert {"stall", "late-end"} <= set(said)
    assert said["late-end"].startswith("The last 1 min 40 s are a wait for 1 answer")


@pytest.mark.parametrize(
    "last",
    [
        sample(start_ms=1_150_000, elapsed_ms=55_000, all_threads=1),  # 5 s after the others
        sample(start_ms=1_050_000, elapsed_ms=100_000, all_threads=10),  # in the middle
        sample(start_ms=1_299_000, all_threads=1),  # nothing was waited for
    ],
    ids=["soon", "middle", "later"],
)
def test_a_wait_that_changes_no_rate_and_a_request_that_began_later_are_none(last):
    assert "late-end" not in warnings_of([*LOAD, last])


def test_a_plan_of_few_requests_whose_last_one_is_long_is_none():
    short = [sample(start_ms=1_000_000 + 100 * number, all_threads=1) for number in range(20)]
    assert "late-end" not in warnings_of([*short, sample(start_ms=1_002_000, elapsed_ms=60_000, all_threads=1)])


@pytest.mark.real
def test_one_user_with_long_requests_is_none():
    samples = [sample(start_ms=1_000_000 + 30_000 * number, elapsed_ms=29_000, all_threads=1) for number in range(1001)]
    assert "late-end" not in warnings_of(samples)
