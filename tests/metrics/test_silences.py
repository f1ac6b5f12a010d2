"""Gaps of a few users: whether they are pauses of the plan, or rows are missing. Every run here is known in full."""

import random

import pytest

from harness.jtl.inputs import resolve
from harness.judge.summarise import SummaryOptions, summarise
from harness.metrics.silences import Silences
from harness.report.jtls import summary_of_jtls
from tests.support.factories import sample, tally_of

START_MS = 1_700_000_000_000
LENGTH_S = 600


def user(number, users, pause_ms, *, work=60, labels=("Search", "Buy"), begin_ms=0):
    """Return the samples of a user for ten minutes: `work` requests of 500 ms, then a pause of `pause_ms()`."""
    found, at_ms, count = [], begin_ms, 0
    while at_ms < LENGTH_S * 1000:
        for _ in range(work):
            found.append(
                sample(
                    labels[count % len(labels)], 500, START_MS + at_ms,
                    thread_name=f"Users 1-{number}", all_threads=users,
                )
            )  # fmt: skip
            at_ms, count = at_ms + 500, count + 1
        at_ms += pause_ms()
    return [one for one in found if one.end_ms < START_MS + LENGTH_S * 1000]


def run_of(users, pause_ms=lambda: 0, **changes):
    """Return the samples of users who do the same, by their end."""
    everything = [one for number in range(1, users + 1) for one in user(number, users, pause_ms, **changes)]
    return sorted(everything, key=lambda one: one.end_ms)


def without(samples, *lost_s):
    """Return the samples without the rows that end within one of the intervals (from, to), s."""
    return [one for one in samples if not any(a <= (one.end_ms - START_MS) / 1000 < b for a, b in lost_s)]


def gaps(samples, with_silences=True):
    """Return from and to of the gaps of a run, s since its first start."""
    silences = Silences()
    for one in samples:
        silences.add(one)
    options = SummaryOptions(silences=silences if with_silences else None)
    return [(gap.from_s, gap.to_s) for gap in summarise(tally_of(samples), "x.jtl", options=options).gaps]


def independent(seed, users):
    """Return the run of users who each pause for 8 to 12 s after 20 s, each at a time of their own."""
    numbers = random.Random(seed)
    everything = []
    for number in range(1, users + 1):
        begin_ms = numbers.randrange(30_000)
        everything += user(number, users, lambda: numbers.randrange(8000, 12_000), work=40, begin_ms=begin_ms)
    return sorted(everything, key=lambda one: one.end_ms)


@pytest.mark.real
def test_pauses_that_coincide_now_and_then_are_not_gaps():
    without_this, with_this = 0, []
    for seed in range(6):
        run = independent(seed, 2)
        without_this += bool(gaps(run, with_silences=False))
        with_this += gaps(run)
    assert without_this >= 1, without_this  # what it is for
    assert with_this == []


@pytest.mark.real
@pytest.mark.parametrize("users", [2, 5])
def test_pauses_of_users_in_step_are_not_gaps(users):
    run = run_of(users, lambda: 10_000, work=400)  # after "Buy", every 200 s
    assert len(gaps(run, with_silences=False)) == 2
    assert gaps(run) == []


@pytest.mark.parametrize("users", [2, 5, 8])
def test_missing_rows_of_a_plan_without_pauses_are_gaps(users):
    run = without(run_of(users), (300, 306))
    assert gaps(run) == [(300, 306)]


@pytest.mark.parametrize("labels", [("Search", "Buy", "Pay"), ("Search",)])
@pytest.mark.parametrize("users", [2, 8])
def test_rows_that_are_missing_twice_are_gaps(users, labels):
    # From Search to Buy, and from Buy to Pay: not the same step of the plan.
    run = without(run_of(users, labels=labels), (100, 106), (400.3, 406.2))
    assert gaps(run) == [(100, 106), (401, 406)]


@pytest.mark.parametrize("users", [5, 8])
def test_missing_rows_of_many_users_who_pause_as_long_are_gaps(users):
    # A tenth of each user's time is a pause; all five at once pause for 8 s less than once in 100,000 such runs.
    numbers = random.Random(7)
    everything = []
    for number in range(1, users + 1):
        begin_ms = numbers.randrange(60_000) if number > 1 else 0
        everything += user(number, users, lambda: 10_000, work=180, begin_ms=begin_ms)
    run = without(sorted(everything, key=lambda one: one.end_ms), (300, 308))
    assert gaps(run) == [(300, 308)]


@pytest.mark.parametrize("users", [2, 5])
def test_a_stall_of_users_who_pause_as_long_stays_a_gap(users):
    # In step they pause for 10 s after every 200 s; after 100 s the system answers nobody for 10 s.
    run = []
    for one in run_of(users, lambda: 10_000, work=400):
        if one.start_ms == START_MS + 100_000:
            one = one._replace(elapsed_ms=10_500)
        elif one.start_ms > START_MS + 100_000:
            one = one._replace(start_ms=one.start_ms + 10_000)
        run.append(one)
    assert gaps(sorted(run, key=lambda one: one.end_ms)) == [(101, 110)]


def thinking(users, least_s, most_s, requests=1):
    """Return 300 s of users who begin within a second, and pause for so long after each of so many requests."""
    numbers, found = random.Random(5), []
    for number in range(users):
        at_s, count = number / users, 0
        while at_s < 300:
            elapsed_ms = numbers.randrange(30, 70)
            name, start_ms = f"Users 1-{number + 1}", START_MS + int(at_s * 1000)
            found.append(sample("ABC"[count % 3], elapsed_ms, start_ms, thread_name=name, all_threads=users))
            count += 1
            at_s += elapsed_ms / 1000 + (0.01 if count % requests else numbers.uniform(least_s, most_s))
    return sorted(found, key=lambda one: one.end_ms)


@pytest.mark.real
@pytest.mark.parametrize("requests", [1, 3])
@pytest.mark.parametrize(("users", "least_s", "most_s"), [(100, 10, 12), (50, 5, 15)])
def test_pauses_of_many_users_who_began_together_are_not_gaps(users, least_s, most_s, requests):
    run = thinking(users, least_s, most_s, requests)
    assert gaps(run, with_silences=False)  # what it is for
    assert gaps(run) == []
    assert [from_s for from_s, _ in gaps(without(run, (200, 210)))] == [200]


def test_the_number_of_gaps_by_chance_by_hand():
    # Two users with silences of 1 s for 200 s, one of them longer and not at the same time, then both of 4 s.
    def silences(longest_ms):
        found = Silences()
        for number in (1, 2):
            before, at_ms = 30 * number, 0
            after = 200 - before - longest_ms // 1000
            for length_ms in [1000] * before + [longest_ms] + [1000] * after + [4000, 1000, 0]:
                found.add(sample("A", 10, at_ms, thread_name=f"Users 1-{number}"))
                at_ms += length_ms
        return found

    # 2 · (2 · 1 s ÷ 402 s) = 0.01; with silences of 4 s, which are no longer than the gap, 0.
    assert silences(5000).explain(200_100, 203_900)
    assert not silences(4000).explain(200_100, 203_900)
    assert not silences(5000).explain(100_100, 103_900)  # samples ended then


def test_other_threads_files_parts_and_transactions_are_no_silences_of_a_user():
    found = Silences()
    for start_ms in range(0, 60_000, 100):
        found.add(sample("A", 100, start_ms, thread_name="Users 1-1"))
        found.add(sample("A", 100, start_ms, thread_name="Users 1-1"), file=1)
        found.add(sample("A-0", 50, start_ms, thread_name="Users 1-1"))
    for start_ms in (0, 20_000, 40_000):
        found.add(sample("Log in", 100, start_ms, thread_name="setUp 1-1"))
        message = "Number of samples in transaction : 2, number of failing samples : 0"
        found.add(sample("Visit", 100, start_ms, thread_name="Users 1-1", message=message))
    assert not found.explain(1000, 19_000)


@pytest.mark.real
@pytest.mark.parametrize(("pause_s", "lost", "is_gap"), [(10, [], False), (0, [(300, 310)], True)])
def test_a_jtl_of_two_users_is_judged_by_their_pauses(tmp_path, pause_s, lost, is_gap):
    path = tmp_path / "two.jtl"
    run = without(run_of(2, lambda: pause_s * 1000, work=400), *lost)
    rows = (f"{one.start_ms},{one.elapsed_ms},{one.label},{one.thread_name},true,2\n" for one in run)
    path.write_text("timeStamp,elapsed,label,threadName,success,allThreads\n" + "".join(rows))
    summary = summary_of_jtls(resolve([str(path)]))
    assert ("offered-read" in {warning.code for warning in summary.warnings}) is is_gap
    assert bool(summary.gaps) is is_gap
