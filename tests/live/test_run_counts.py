"""The cumulative counts of a run while it lasts."""

from harness.live.run_counts import CAUSES_MOST, LABELS_MOST, OTHER_LABELS, RunCounts
from harness.metrics.figures import LOAD, ONCE
from harness.metrics.tally import OTHER_CAUSES
from tests.support.factories import failed, sample


def test_counts_are_per_label_and_add_up_over_several_calls():
    counts = RunCounts(once_labels=["Create"])
    counts.add([sample("Pay", 100), sample("Create", 7)])
    counts.add([failed("Pay", elapsed_ms=300)])
    labels = counts.snapshot().labels
    assert list(labels) == [(LOAD, "Pay", False), (ONCE, "Create", False)]
    pay = labels[LOAD, "Pay", False]
    assert (pay.histogram.counts, pay.error_count, pay.elapsed_sum_ms) == ({100: 1, 300: 1}, 1, 400)
    assert pay.received_bytes == 600


def test_a_snapshot_does_not_change_any_more():
    counts = RunCounts()
    counts.add([sample("Pay", 100)])
    before = counts.snapshot()
    counts.add([sample("Pay", 100), sample("New")])
    assert before.labels[LOAD, "Pay", False].histogram.counts == {100: 1}
    assert len(before.labels) == 1


def test_a_transaction_has_counts_of_its_own():
    counts = RunCounts()
    counts.add([sample("Pay"), sample("Pay", message="Number of samples in transaction : 1, …")])
    assert list(counts.snapshot().labels) == [(LOAD, "Pay", False), (LOAD, "Pay", True)]


def test_the_users_of_load_generators_add_up_and_none_are_active_in_the_end():
    counts = RunCounts()
    counts.add([sample(thread_name=f"10.0.0.{one}:1099-Users 1-1", all_threads=20 + one) for one in (1, 2)])
    counts.add([sample(thread_name="10.0.0.1:1099-Users 1-1", all_threads=5)])
    assert counts.snapshot().active_users == 5 + 22
    counts.end()
    assert (counts.snapshot().active_users, counts.snapshot().is_ended) == (0, True)


def test_labels_beyond_the_limit_are_counted_together_and_earlier_ones_keep_their_own():
    counts = RunCounts()
    counts.add([sample(f"page {number}", 10) for number in range(LABELS_MOST)])
    counts.add([sample(f"late {number}", 20) for number in range(3)] + [sample("page 0", 10)])
    labels = counts.snapshot().labels
    assert len(labels) == LABELS_MOST + 1
    assert labels[LOAD, "page 0", False].histogram.counts == {10: 2}
    assert labels[LOAD, OTHER_LABELS, False].histogram.counts == {20: 3}


def test_causes_beyond_the_limit_are_counted_together():
    counts = RunCounts()
    letters = "abcdefghijklmnop"
    causes = [f"no {one}{other}" for one in letters for other in letters][: CAUSES_MOST + 5]
    counts.add([failed("Pay", failure=cause) for cause in causes])
    found = counts.snapshot().causes
    assert len(found) == CAUSES_MOST + 1
    assert found["Pay", "402", "no aa"] == 1
    assert found[OTHER_LABELS, "", OTHER_CAUSES] == 5


def test_a_secret_is_in_no_text_and_labels_that_then_are_equal_are_one():
    counts = RunCounts(hidden=["s3cret-1", "s3cret-2"])
    counts.add([failed("Login s3cret-1", failure="no s3cret-1"), failed("Login s3cret-2", failure="no s3cret-2")])
    snapshot = counts.snapshot()
    assert {key: counts.error_count for key, counts in snapshot.labels.items()} == {(LOAD, "Login •••", False): 2}
    assert dict(snapshot.causes) == {("Login •••", "402", "no •••"): 2}


def test_the_users_of_jmeter_count_more_than_those_of_the_last_rows():
    counts = RunCounts()
    counts.add([sample(all_threads=3)], 150)
    assert counts.snapshot().active_users == 150
    counts.add([], None)  # of load generators only the rows tell
    assert counts.snapshot().active_users == 3
