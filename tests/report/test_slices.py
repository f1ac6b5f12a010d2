"""The slowest seconds of a label against its normal ones: what the system did more of, and nothing by chance."""

import pytest

from harness.base.errors import UsageError
from harness.commands.profile import ProfileDifference, Seconds, differences, differences_text, seconds_of
from harness.metrics.interval import IntervalMs
from harness.system.profile_events import read_events
from tests.support.factories import sample

WINDOW_MS = IntervalMs(1_000_000, 1_039_999)
SLOW = (1_005, 1_015, 1_025, 1_035)


def load():
    """Return 40 seconds with ten samples of 50 ms each; in four of them they take 500 ms."""
    return [
        sample("Pay", 500 if second in SLOW else 50, second * 1000 + 40 * number)
        for second in range(1_000, 1_040)
        for number in range(10)
    ]


def events(*lines):
    return read_events(["P\tshop", "S\t0\tjava.util.HashMap.get;shop.Till.pay", *lines])


def test_the_slowest_tenth_of_the_seconds_is_compared_with_the_faster_half():
    found = seconds_of([*load(), sample("Log", 9_000, 1_020_000)], "Pay", WINDOW_MS)
    assert found.slow == SLOW
    assert len(found.normal) == 20
    assert not set(found.normal) & set(SLOW)
    assert (found.slow_ms, found.normal_ms) == (500, 50)


def test_further_seconds_of_at_least_twice_the_median_are_slow_too():
    samples = [sample("Pay", 500 if second < 1_010 else 100, second * 1000) for second in range(1_000, 1_040)]
    assert seconds_of(samples, "Pay", WINDOW_MS).slow == tuple(range(1_000, 1_010))
    # At most a third of 40 seconds.
    samples = [sample("Pay", 500 if second < 1_019 else 100, second * 1000) for second in range(1_000, 1_040)]
    assert len(seconds_of(samples, "Pay", WINDOW_MS).slow) == 13


def test_a_label_with_few_seconds_is_refused():
    with pytest.raises(UsageError, match="--label Pay: samples in 1 seconds of the window"):
        seconds_of([sample("Pay", 5, 1_000_000)], "Pay", WINDOW_MS)


def test_what_is_more_frequent_in_the_slow_seconds_is_named_with_both_values():
    seconds = seconds_of(load(), "Pay", WINDOW_MS)
    always = [f"E\tlock\t{second}\t0\tshop.Shelf\t\t1\t{5_000_000 + second % 3}\t9" for second in range(1_000, 1_040)]
    planted = [f"E\tlock\t{second}\t0\tshop.Till\t\t9\t{4_000_000_000 + second}\t9" for second in SLOW]
    (found,) = differences(events(*always, *planted), seconds)
    assert (found.process, found.kind, found.name) == ("shop", "lock", "shop.Till at shop.Till.pay")
    assert (round(found.slow), found.normal, found.unit) == (4000, 0, "ms")
    text = differences_text(seconds, [found])
    assert "The 4 slowest seconds (mean of the samples in progress 500 ms) against the 20 normal ones (50 ms)." in text
    assert "| shop | lock | shop.Till at shop.Till.pay | 4000 | 0 | ms |" in text


@pytest.mark.parametrize("kind", ["cpu", "lock", "alloc", "gc", "safepoint", "throw"])
def test_every_kind_of_event_can_be_named(kind):
    seconds = seconds_of(load(), "Pay", WINDOW_MS)
    lines = [f"E\t{kind}\t{second}\t0\tone\t\t50\t{90_000_000 + second}\t9" for second in SLOW]
    assert len(differences(events(*lines), seconds)) == 1


def test_events_that_scatter_over_all_seconds_are_not_named():
    seconds = seconds_of(load(), "Pay", WINDOW_MS)
    scattered = [
        f"E\tgc\t{second}\t-1\tG1\t\t1\t{(second * 7919 % 13) * 1_000_000}\t9" for second in range(1_000, 1_040)
    ]
    once = [f"E\tthrow\t{SLOW[0]}\t0\tjava.io.IOException\t\t3\t0\t0"]
    found = differences(events(*scattered, *once), seconds)
    assert found == ()
    assert "nothing that is more frequent" in differences_text(seconds, found)


def test_seconds_that_hardly_differ_have_no_causes():
    seconds = Seconds((1, 2, 3), (4, 5, 6), 55.0, 50.0)
    assert not seconds.is_slower
    assert "do not differ enough" in differences_text(seconds, [ProfileDifference("shop", "gc", "pauses", 9, 1, "ms")])
