"""Whose threads serve requests, of so many that some always fit: few slow requests of a busy site, and other times."""

import random

import pytest

from harness.judge.tail import tail_accounts
from harness.judge.tail_matching import Matching
from harness.judge.tail_pools import TailRequest
from harness.system.thread_dumps import DumpedThreads
from harness.system.thread_times import VIRTUAL, BusySpan, Period, ThreadTimes, TimeCause

LOCK = TimeCause("lock", "Till at Shop.pay")
POOL, STATEMENT = "http-*", TimeCause("statement", "Shop.find")


def busy_site(seed, users=10, length_s=60):
    """Return the requests of users who never pause and share a pool of connections, and the threads that serve them.

    One in a hundred waits 250 ms longer for a connection. Where its next request has arrived, a thread does not idle.
    """
    chance, times, requests = random.Random(seed), ThreadTimes(pools=dict.fromkeys(range(users), POOL)), []
    for user in range(users):
        at_ms, busy_from_ms = chance.uniform(0, 300), None
        while at_ms < 1_000 * length_s:
            wait_ms = chance.uniform(20, 120) + (250 if chance.random() < 0.01 else 0)
            parts = [(TimeCause("pool", "Shop.take"), wait_ms), (STATEMENT, chance.uniform(60, 180))]
            begin_ms = from_ms = at_ms + chance.uniform(0.2, 1.0)
            for cause, ms in parts:
                times.waits[user].append(Period(begin_ms, begin_ms + ms, cause))
                begin_ms += ms
            end_ms = begin_ms + chance.uniform(0.2, 1.0)
            requests.append(TailRequest(int(at_ms), int(end_ms + 0.3)))
            busy_from_ms = from_ms if busy_from_ms is None else busy_from_ms
            if chance.random() < 0.8:
                times.spans.append(BusySpan(busy_from_ms, end_ms, user))
                busy_from_ms = None
            at_ms = end_ms + chance.uniform(0.3, 1.0)
    times.spans.sort()
    return sorted(requests), times


def of_site(seed, moved_ms=0, longer_than_ms=0):
    """Return the accounts of the labels of a busy site, of which each has few requests near p99."""
    requests, times = busy_site(seed)
    moved = [
        one._replace(from_ms=one.from_ms + moved_ms, to_ms=one.to_ms + moved_ms)
        if one.length_ms > longer_than_ms
        else one
        for one in requests
    ]
    labels = {f"page {number}": sorted(moved[number::15]) for number in range(15)}
    return tail_accounts(Matching(sorted(moved), {"shop": times}), labels, 0)


@pytest.mark.real
@pytest.mark.parametrize("seed", range(3))
def test_the_cause_of_few_slow_requests_of_a_busy_site_is_found(seed):
    accounts = of_site(seed)
    excess_ms = sum(one.excess_ms for one in accounts)
    pool_ms = sum(cause.ms for one in accounts for cause in one.causes if cause.kind == "pool")
    assert len(accounts) == 3
    assert all(one.slow_count <= 10 and one.causes[0].kind == "pool" for one in accounts)
    assert all(one.found_count >= 0.8 * one.slow_count and not one.is_incomplete for one in accounts)
    assert pool_ms >= 0.7 * excess_ms


@pytest.mark.real
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("moved_ms", [5_000, -7_300])
@pytest.mark.parametrize("longer_than_ms", [0, 350], ids=["all", "slow ones, as of handlers that answer later"])
def test_what_a_busy_site_did_at_other_times_explains_no_request(longer_than_ms, moved_ms, seed):
    accounts = of_site(seed, moved_ms, longer_than_ms)
    assert not any(one.is_told for one in accounts)
    assert longer_than_ms or not any(one.causes for one in accounts)


def dumped(lives, apart_ms, chance):
    """Return what dumps that are so far apart on average have of virtual threads: (from, lock ms, statement ms)."""
    times, dumps, stacks, at_ms = ThreadTimes(), DumpedThreads(), {}, -1_000.0
    lines = []
    while at_ms < lives[-1][0] + 2_000:
        blocks = [
            f'#{thread} "" virtual WAITING\n    at Shop.{"pay" if at_ms < from_ms + lock_ms else "find"}(Shop.java:1)\n'
            for thread, (from_ms, lock_ms, statement_ms) in enumerate(lives)
            if from_ms <= at_ms < from_ms + lock_ms + statement_ms
        ]
        lines += dumps.add("\n".join(blocks), round(1_000 * at_ms) + 10**9)
        at_ms += chance.uniform(0.5, 1.5) * apart_ms
    for kind, *parts in (line.rstrip("\n").split("\t") for line in (*lines, *dumps.end())):
        if kind == "A":
            times.dump_times_ms.append(int(parts[0]) / 1_000 - 10**6)
        elif kind == "S":
            stacks[parts[0]] = LOCK if "pay" in parts[1] else STATEMENT
        else:
            from_ms, to_ms = (int(us) / 1_000 - 10**6 for us in parts[4:])
            times.dumped[int(parts[0])].append(Period(from_ms, to_ms, stacks[parts[3]]))
    times.spans = [BusySpan(from_ms, from_ms + sum(ms), thread) for thread, (from_ms, *ms) in enumerate(lives)]
    times.pools = dict.fromkeys(range(len(lives)), VIRTUAL)
    return times


@pytest.mark.real
@pytest.mark.parametrize("statement_ms", [0, 200])
@pytest.mark.parametrize("apart_ms", [50, 150, 300, 500, 800])
@pytest.mark.parametrize("seed", range(4))
def test_the_intervals_of_virtual_threads_have_the_truth_however_far_dumps_are_apart(seed, apart_ms, statement_ms):
    chance = random.Random(seed)
    lives = [
        (400.0 * number, 300.0, float(statement_ms)) if number % 20 == 1 else (400.0 * number, 1.0, 0.0)
        for number in range(600)
    ]
    requests = [TailRequest(int(from_ms), int(from_ms + sum(ms)) + 1) for from_ms, *ms in lives]
    (found,) = tail_accounts(Matching(requests, {"shop": dumped(lives, apart_ms, chance)}), {"home": requests}, 0)
    causes = {cause.kind: cause for cause in found.causes}
    injected_ms = {"lock": 300, "statement": statement_ms} if statement_ms else {"lock": 300}
    assert causes.keys() <= injected_ms.keys()
    if apart_ms <= 150:
        assert found.is_told
        assert causes.keys() == injected_ms.keys()
    for kind, cause in causes.items():
        assert cause.low_ms - 1 <= injected_ms[kind] <= cause.high_ms + 1
