"""Whose threads serve requests, of so many that some always fit: few slow requests of a busy site, and other times."""

import random

import pytest

from harness.judge.tail import tail_accounts
from harness.judge.tail_matching import Matching
from harness.judge.tail_pools import TailRequest
from harness.system.thread_times import BusySpan, Period, ThreadTimes, TimeCause

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


@pytest.mark.parametrize("seed", range(3))
def test_the_cause_of_few_slow_requests_of_a_busy_site_is_found(seed):
    accounts = of_site(seed)
    excess_ms = sum(one.excess_ms for one in accounts)
    pool_ms = sum(cause.ms for one in accounts for cause in one.causes if cause.kind == "pool")
    assert len(accounts) == 3
    assert all(one.slow_count <= 10 and one.causes[0].kind == "pool" for one in accounts)
    assert all(one.found_count >= 0.8 * one.slow_count and not one.is_incomplete for one in accounts)
    assert pool_ms >= 0.7 * excess_ms


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("moved_ms", [5_000, -7_300])
@pytest.mark.parametrize("longer_than_ms", [0, 350], ids=["all", "slow ones, as of handlers that answer later"])
def test_what_a_busy_site_did_at_other_times_explains_no_request(longer_than_ms, moved_ms, seed):
    accounts = of_site(seed, moved_ms, longer_than_ms)
    assert not any(one.is_told for one in accounts)
    assert longer_than_ms or not any(one.causes for one in accounts)
