"""Batches of a window: counted where samples end, merged exactly, and what their figures are."""

import pytest

from harness.base.records import to_plain
from harness.metrics.batches import BatchCounts, Batches, batch_count_of
from harness.metrics.figures import LOAD, Group
from harness.metrics.interval import IntervalMs
from harness.metrics.tally import Scope
from tests.support.factories import failed, sample


@pytest.mark.parametrize(("length_s", "count"), [(1000, 20), (40, 20), (39, 10), (20, 10), (19, 0), (0, 0)])
def test_a_window_has_20_batches_or_10_when_it_is_short(length_s, count):
    assert batch_count_of(length_s) == count


def test_a_sample_counts_in_the_batch_in_which_it_ends():
    tally = Scope(window_ms=IntervalMs(10_000, 12_000), batch_count=2).tally()
    for start_ms, elapsed_ms in (
        (9_950, 50),
        (10_900, 99),
        (10_900, 100),
        (11_000, 999),
        (11_000, 1_000),
        (9_000, 999),
    ):
        tally.add(sample(start_ms=start_ms, elapsed_ms=elapsed_ms))
    batches = tally.batches[LOAD, "Pay", False]
    # Ends: 10,000 and 10,999 in the first; 11,000 and 11,999 in the second; 12,000 and 9,999 outside.
    assert {number: batch.histogram.counts for number, batch in batches.items()} == {
        0: {50: 1, 99: 1},
        1: {100: 1, 999: 1},
    }


def test_batches_of_parts_merge_into_batches_of_the_whole():
    samples = [sample(start_ms=ms, elapsed_ms=ms % 7) for ms in range(0, 2_000, 30)] + [failed(start_ms=1_500)]
    whole, first, second = (Scope(window_ms=IntervalMs(0, 2_000), batch_count=4).tally() for _ in range(3))
    for number, one in enumerate(samples):
        whole.add(one)
        (first, second)[number % 2].add(one)
    first.merge(second)
    assert first.batches == whole.batches
    assert sum(batch.error_count for batch in first.batches[LOAD, "Pay", False].values()) == 1


def test_batch_values_are_columns_and_a_batch_without_samples_has_none():
    full, empty = BatchCounts(error_count=1), BatchCounts()
    for elapsed_ms in range(1, 31):
        full.histogram.add(elapsed_ms)
        full.elapsed_sum_ms += elapsed_ms
    batches = Batches.of({0: full, 2: empty}, 3, 2.5)
    assert batches is not None
    assert (batches.length_s, batches.sample_count, batches.error_count) == (2.5, (30, 0, 0), (1, 0, 0))
    assert batches.average_ms == (15.5, None, None)
    assert batches.percentiles_ms["50"] == (15, None, None)
    assert batches.percentiles_ms["99"] == (30, None, None)
    assert batches.slower_count["50"] == (15, 0, 0)  # of 1 to 30 those above 15
    assert Batches.of({0: full}, 4, 2.5) is None  # 30 samples in 4 batches: fewer than 10 each


def test_samples_slower_than_a_percentile_are_counted_in_each_batch():
    quick, slow = BatchCounts(), BatchCounts()
    for elapsed_ms in range(1, 11):
        quick.histogram.add(elapsed_ms, 2)
        slow.histogram.add(elapsed_ms * 10, 2)
    batches = Batches.of({0: quick, 1: slow}, 2, 2.5)
    # Of 40 samples the 20th is 10 (20 quick ones and two slow ones are up to it), the 36th is 80 and the 38th is 90.
    assert batches is not None
    assert {text: batches.slower_count[text] for text in ("50", "90", "95")} == {
        "50": (0, 18),
        "90": (0, 4),
        "95": (0, 2),
    }


def test_total_has_the_batches_of_the_labels_that_it_counts_and_they_survive_the_json():
    tally = Scope(window_ms=IntervalMs(0, 1_000), batch_count=1).tally()
    for number in range(10):
        tally.add(sample("A", start_ms=number, elapsed_ms=100))
        tally.add(sample("B", start_ms=number, elapsed_ms=200))
        tally.add(sample("T", start_ms=number, elapsed_ms=300, message="Number of samples in transaction : 2"))
    (group,) = tally.groups()
    assert group.total.batches is not None
    assert (group.total.batches.sample_count, group.total.batches.average_ms) == ((20,), (150.0,))
    assert [label.batches and label.batches.average_ms for label in group.labels] == [(100.0,), (200.0,), (300.0,)]
    assert Group.from_plain(to_plain(group), "test") == group
