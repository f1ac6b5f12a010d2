"""Counts and users per second: the same as in a dictionary, in a fraction of its memory."""

import random
import tracemalloc

import pytest

from harness.metrics.per_second import SecondCounts, SecondUsers

# Neighbours, hours and years apart, and 0: a clock that was set.
SECONDS = (0, 1, 15, 16, 17, 31, 3600, 1_699_999_999, 1_700_000_000, 1_700_000_001, 1_700_000_017, 9_000_000_000)


def test_counts_are_those_of_a_dictionary():
    rng = random.Random(1)
    counts, expected = SecondCounts(), {}
    assert (bool(counts), len(counts), counts.span_s, 0 in counts) == (False, 0, None, False)
    for _ in range(300):
        second, added = rng.choice(SECONDS), (rng.randrange(1, 9), rng.randrange(3), rng.randrange(50_000))
        counts.add(second, *added)
        expected[second] = tuple(map(sum, zip(expected.get(second, (0, 0, 0)), added, strict=True)))
        assert counts == expected
    assert (list(counts), counts.span_s, bool(counts)) == (sorted(expected), (0, 9_000_000_000), True)
    for first_s, last_s in ((0, 40), (1, 15), (16, 16), (1_699_999_990, 1_700_000_031), (5, 4)):
        between = [expected.get(second, (0, 0, 0)) for second in range(first_s, last_s + 1)]
        assert list(zip(*counts.between(first_s, last_s), strict=True)) == between
    assert counts.sample_count == sum(sample_count for sample_count, _, _ in expected.values())


def test_users_are_the_most_of_each_second():
    rng = random.Random(2)
    users, expected = SecondUsers(), {}
    for _ in range(300):
        second, active = rng.choice(SECONDS), rng.randrange(4)
        users.raise_to(second, active)
        expected[second] = max(active, expected.get(second, 0))
        assert users == expected
    users.raise_to(40, 0)
    expected[40] = 0
    assert users == expected
    assert list(users.between(10, 3601)) == [expected.get(second) for second in range(10, 3602)]


def test_numbers_of_a_damaged_file_need_not_fit_into_eight_bytes():
    counts, users = SecondCounts(), SecondUsers()
    for _ in range(3):
        counts.add(7, 2**63 - 1, 2**63 - 2, 5)
        counts.add(8, 1, 0, 5)
        users.raise_to(7, 2**63 - 1)
        users.raise_to(8, 2)
    assert counts == {7: (3 * (2**63 - 1), 3 * (2**63 - 2), 15), 8: (3, 0, 15)}
    assert users == {7: 2**63 - 1, 8: 2}


@pytest.mark.real
def test_a_second_of_a_long_run_takes_few_bytes():
    tracemalloc.start()
    try:
        counts, users = SecondCounts(), SecondUsers()
        for second in range(1_700_000_000, 1_700_000_000 + 20_000):
            counts.add(second, 300, 0, 70_000)
            users.raise_to(second, 400)
        used_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used_bytes < 65 * 20_000
