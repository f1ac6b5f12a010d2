"""Counts of samples per label and second."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics.figures import LOAD, ONCE
from harness.metrics.label_seconds import LabelSeconds
from tests.support.factories import failed, sample, tally_of


def seconds_of(samples, once_labels=()):
    counted = LabelSeconds(once_labels)
    for one in samples:
        counted.add(one)
    return counted.sort()


def test_a_sample_counts_in_the_second_in_which_it_ended():
    seconds = seconds_of([
        sample("Pay", 900, 1_000_000), sample("Pay", 1100, 1_000_000),
        failed("Pay", elapsed_ms=300, start_ms=1_000_000),
    ])  # fmt: skip
    first, second = seconds.by_label((LOAD, "Pay", False))
    assert (first.second, first.histogram().counts, first.error_count, first.elapsed_sum_ms) == (
        1000, {300: 1, 900: 1}, 1, 1200,
    )  # fmt: skip
    assert (second.second, second.histogram().counts, second.received_bytes) == (1001, {1100: 1}, 300)
    assert seconds.sample_count == 3
    assert seconds.span_s == (1000, 1001)


def test_samples_may_come_in_any_order_and_labels_are_in_order_of_appearance():
    seconds = seconds_of([sample("B", 10, 5_000), sample("A", 10, 5_000), sample("B", 20, 1_000)], ["A"])
    assert seconds.keys == ((LOAD, "B", False), (ONCE, "A", False))
    assert [(one.second, one.key[1]) for one in seconds.by_time()] == [(1, "B"), (5, "B"), (5, "A")]
    assert [one.second for one in seconds.by_label((LOAD, "B", False))] == [1, 5]


def test_the_response_time_of_a_row_of_several_samples_is_that_of_each_and_its_sum_is_exact():
    (one,) = seconds_of([sample("Pay", 1001, sample_count=2, error_count=1)]).by_time()
    assert (one.histogram().counts, one.elapsed_sum_ms, one.error_count, one.sample_count) == ({500: 2}, 1001, 1, 2)


def test_bytes_of_a_jtl_without_such_a_column_are_not_known():
    (one,) = seconds_of([sample(received_bytes=None)]).by_time()
    assert (one.received_bytes, one.sent_bytes) == (None, 100)


def test_users_of_several_files_add_up():
    counted = LabelSeconds()
    for file, users in ((0, 3), (1, 4)):
        counted.add(sample(start_ms=1_000, all_threads=users), file)
    assert counted.sort().active_users() == [7]


def test_nothing_is_counted_without_samples():
    seconds = seconds_of([])
    assert (seconds.span_s, seconds.sample_count, list(seconds.by_time())) == (None, 0, [])


@pytest.mark.real
@given(
    st.lists(
        st.tuples(st.sampled_from(["A", "B"]), st.integers(0, 5000), st.integers(0, 20_000), st.booleans()), min_size=1
    )
)
def test_the_seconds_of_a_label_add_up_to_its_counts_in_a_report(rows):
    samples = [
        (failed if is_bad else sample)(label, elapsed_ms=elapsed_ms, start_ms=start_ms)
        for label, elapsed_ms, start_ms, is_bad in rows
    ]
    seconds = seconds_of(samples)
    for group in tally_of(samples).groups():
        for figures in group.labels:
            parts = list(seconds.by_label((group.name, figures.label, False)))
            merged = {}
            for part in parts:
                for elapsed_ms, count in part.histogram().counts.items():
                    merged[elapsed_ms] = merged.get(elapsed_ms, 0) + count
            assert merged == figures.counts.histogram.counts
            assert sum(part.error_count for part in parts) == figures.error_count
            assert sum(part.elapsed_sum_ms for part in parts) == figures.counts.elapsed_sum_ms


def test_an_unknown_label_is_an_error():
    with pytest.raises(ValueError, match="not in"):
        next(seconds_of([sample()]).by_label((LOAD, "Refund", False)))
