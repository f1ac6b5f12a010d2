"""What the live page counts in a hurry is what a report counts with care."""

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.live.counts import LiveCounts
from tests.support.factories import sample, tally_of

TRANSACTION = "Number of samples in transaction : 2, number of failing samples : 0"
FIGURES = (
    "label", "is_transaction", "sample_count", "average_ms", "percentiles_ms", "min_ms", "max_ms", "error_count",
    "rate_per_s", "success_rate_per_s",
)  # fmt: skip


def one(count, failed_count, **values):
    failed_count = min(count, failed_count)
    failure = "no" if failed_count else ""
    return sample(**values, sample_count=count, error_count=failed_count, success=not failed_count, failure=failure)


SAMPLES = st.builds(
    one,
    label=st.sampled_from(["Find", "Pay", "Log in"]),
    thread_name=st.sampled_from(["Users 1-1", "Users 1-2", "10.0.0.7:1099-Users 1-1", "tearDown Thread Group 1-1"]),
    elapsed_ms=st.integers(0, 3000),
    start_ms=st.integers(1_000_000, 1_009_000),
    message=st.sampled_from([TRANSACTION, "OK"]),
    count=st.integers(1, 3),
    failed_count=st.sampled_from([0, 0, 1]),
    all_threads=st.sampled_from([None, 3]),
)


@pytest.mark.real
@given(st.lists(st.lists(SAMPLES, max_size=6), min_size=1, max_size=4))
def test_labels_errors_and_seconds_are_those_of_every_sample(ticks):
    counts = LiveCounts(("Log in",))
    seconds = {"requests": defaultdict(Counter), "transactions": defaultdict(Counter)}
    failed = {"requests": Counter(), "transactions": Counter()}
    for tick in ticks:
        for kind, ended in counts.add(tick)._asdict().items():
            for at_s, times_ms in ended.seconds.items():
                seconds[kind][at_s].update(times_ms)
            failed[kind].update(ended.error_counts)
    samples = [one for tick in ticks for one in tick]
    expected = tally_of(samples, ("Log in",))
    found = {group.name: group for group in counts.tally.groups()}
    assert found.keys() == {group.name for group in expected.groups()}
    for group in expected.groups():
        for mine, theirs in zip(
            (*found[group.name].labels, found[group.name].total), (*group.labels, group.total), strict=True
        ):
            assert {name: getattr(mine, name) for name in FIGURES} == {name: getattr(theirs, name) for name in FIGURES}
    assert [(kind.label, kind.cause, kind.count) for kind in counts.tally.error_kinds()] == [
        (kind.label, kind.cause, kind.count) for kind in expected.error_kinds()
    ]
    for kind in ("requests", "transactions"):
        of_kind = [one for one in samples if one.is_transaction == (kind == "transactions")]
        ended = defaultdict(Counter)
        for one in of_kind:
            ended[one.end_ms // 1000][one.elapsed_ms // one.sample_count] += one.sample_count
        assert seconds[kind] == ended
        assert failed[kind].total() == sum(one.error_count for one in of_kind)


def test_users_are_the_newest_of_each_load_generator():
    counts = LiveCounts()
    for users in (10, 4000):
        counts.add([sample(thread_name=f"10.0.0.{number}:1099-Users 1-1", all_threads=users) for number in (7, 8, 9)])
    assert counts.users == 12_000
