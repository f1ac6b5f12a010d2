"""The account of the tail: whose thread served a request, what its time was spent on, and what is not claimed."""

import random

import pytest

from harness.jtl.sample import Sample
from harness.judge.tail import TailCause, generator_stops, tail_accounts, tails_of
from harness.judge.tail_matching import Matching
from harness.judge.tail_pools import TailRequest
from harness.metrics.interval import IntervalMs
from harness.metrics.wake_delays import Stall
from harness.report.tail_text import slowest_bars, tail_sentence, tail_text
from harness.run.telemetry.table import ProcessStop
from harness.system.thread_times import BusySpan, Delay, Period, ThreadTimes, TimeCause, read_thread_times

LOCK, STATEMENT, COLLECTION = (
    TimeCause("lock", "Till at Shop.pay"),
    TimeCause("statement", "Shop.find"),
    TimeCause("stop", "G1Full GC"),
)
POOL = "http-*"


def served(slow_ms=300, count=200, slow_each=40):
    """Return requests of 10 ms, some of which take longer, and the threads that had work 1 ms less at either end."""
    requests, times = [], ThreadTimes()
    for number in range(count):
        from_ms = 1_000 * number
        to_ms = from_ms + (10 + slow_ms if number % slow_each == 1 else 10)
        requests.append(TailRequest(from_ms, to_ms))
        times.spans.append(BusySpan(from_ms + 1.0, to_ms - 1.0, number % 4))
    times.pools = dict.fromkeys(range(4), POOL)
    return requests, times


def slow_of(requests):
    return [request for request in requests if request.length_ms > 50]


def account_of(requests, times, stops=()):
    (found,) = tail_accounts(Matching(requests, {"shop": times}, stops), {"home": requests}, 0)
    assert sum(one.ms for one in found.causes) + found.smaller_ms + found.unexplained_ms == pytest.approx(
        found.excess_ms, abs=0.2
    )
    return found


def thread_of(request):
    return request.from_ms // 1_000 % 4


def wait(times, request, after_ms, length_ms, cause):
    from_ms = float(request.from_ms + after_ms)
    times.waits[thread_of(request)].append(Period(from_ms, from_ms + length_ms, cause))


def test_the_waits_of_slow_requests_explain_the_difference():
    requests, times = served()
    for request in slow_of(requests):
        wait(times, request, 4, 200.0, LOCK)
        wait(times, request, 204, 90.0, STATEMENT)
    found = account_of(requests, times)
    assert (found.p50_ms, found.p99_ms, found.slow_count, found.found_count) == (10, 310, 5, 5)
    assert found.causes == (
        TailCause(*LOCK, 200.0, 200.0, 200.0),
        TailCause(*STATEMENT, 90.0, 90.0, 90.0),
    )
    assert (found.smaller_ms, found.unexplained_ms) == (0.0, 10.0)
    assert tail_sentence(found) == (
        "p99 of home is 300 ms above p50: lock Till at Shop.pay 200 (200 to 200), "
        "statement at Shop.find 90 (90 to 90), unexplained 10."
    )
    assert slowest_bars(found).count("310 ms `LLLLLLLLLLLLLLLLLLLSSSSSSSSS··`") == 3
    assert "(L lock, S statement, · unexplained)" in slowest_bars(found)
    assert "| lock Till at Shop.pay | 200 | 200 to 200 | 67 |" in tail_text(found)
    assert "Compared: 5 requests near p99 (310 ms) with those near p50 (10 ms)." in tail_text(found)


def test_what_typical_requests_wait_for_as_long_explains_nothing():
    requests, times = served()
    for request in requests:
        wait(times, request, 2, 5.0, STATEMENT)
    found = account_of(requests, times)
    assert (found.causes, found.unexplained_ms) == ((), 300.0)
    assert not found.is_told
    assert tail_sentence(found) == (
        "Why p99 of home is 300 ms above p50 is not known: 100 % is unexplained; the system's thread is known for 5 of "
        "5 slow requests."
    )
    assert slowest_bars(found) == ""


def test_the_sentence_says_when_it_cannot_tell_and_when_no_cause_is_beyond_chance():
    requests, times = served()
    for number, request in enumerate(slow_of(requests)):
        wait(times, request, 4, 200.0, LOCK)
        if number == 1:
            wait(times, request, 204, 90.0, STATEMENT)
    found = account_of(requests, times)
    assert tail_sentence(found) == (
        "p99 of home is 300 ms above p50: lock Till at Shop.pay 200 (200 to 200), smaller causes 18, "
        "unexplained 82 (cannot tell why)."
    )
    requests, times = served()
    for request, cause in zip(slow_of(requests), ("a", "b", "c", "d", "e"), strict=True):
        wait(times, request, 4, 290.0, TimeCause("lock", cause))
    assert tail_sentence(account_of(requests, times)) == (
        "Why p99 of home is 300 ms above p50 is not known: no cause is beyond chance; the system's thread is known for "
        "5 of 5 slow requests."
    )


def test_a_redirected_request_has_the_threads_that_served_it_one_after_another():
    requests, times = served()
    times.spans = [span for span in times.spans if span.to_ms - span.from_ms < 50]
    for request in slow_of(requests):
        at_ms = float(request.from_ms)
        times.spans += [BusySpan(at_ms + 1, at_ms + 200, 1), BusySpan(at_ms + 203, at_ms + 309, 2)]
        times.waits[1].append(Period(at_ms + 2, at_ms + 198, LOCK))
        times.waits[2].append(Period(at_ms + 204, at_ms + 308, STATEMENT))
    times.spans.sort()
    found = account_of(requests, times)
    assert [(one.kind, one.ms) for one in found.causes] == [("lock", 196.0), ("statement", 104.0)]


def test_the_waits_of_a_thread_that_serves_no_request_are_not_claimed():
    """A timer thread waits for a lock while requests are slow, and nothing is known of their own threads."""
    requests, times = served()
    times.spans = [span for span in times.spans if span.to_ms - span.from_ms < 50]
    for request in slow_of(requests):
        times.spans.append(BusySpan(request.from_ms + 2.0, request.to_ms - 2.0, 9))
        times.waits[9].append(Period(request.from_ms + 4.0, request.to_ms - 4.0, LOCK))
    times.spans.sort()
    times.pools[9] = "timer-*"
    found = account_of(requests, times)
    assert (found.causes, found.found_count, found.unexplained_ms) == ((), 0, 300.0)


def test_the_waits_of_a_thread_that_serves_another_request_are_not_claimed():
    requests, times = served()
    times.spans = [span for span in times.spans if span.to_ms - span.from_ms < 50]
    for request in slow_of(requests):
        other = TailRequest(request.from_ms + 3, request.to_ms - 3)
        requests.append(other)
        times.spans.append(BusySpan(other.from_ms + 1.0, other.to_ms - 1.0, 5))
        times.waits[5].append(Period(other.from_ms + 2.0, other.to_ms - 2.0, LOCK))
    times.spans.sort()
    times.pools[5] = POOL
    chosen = [request for request in requests if request.length_ms == 310]
    for divided in Matching(sorted(requests), {"shop": times}).divide(chosen, len(requests)):
        assert not divided.thread_is_known
        assert dict(divided.parts) == {TimeCause("unexplained", ""): 310}


def test_the_waits_of_a_service_behind_that_fits_some_requests_better_are_not_claimed():
    """Where the front's thread served a request before without a pause, that of the service behind fits better."""
    requests, times = served()
    behind = ThreadTimes(pools={1: "behind-*"})
    for number, request in enumerate(requests):
        is_slow = request.length_ms > 50
        less_ms = 10 if is_slow else 3
        if is_slow:
            times.spans[number] = times.spans[number]._replace(from_ms=request.from_ms - 200.0)
            behind.waits[1].append(Period(request.from_ms + 20, request.to_ms - 20, LOCK))
        behind.spans.append(BusySpan(request.from_ms + less_ms, request.to_ms - less_ms, 1))
    times.spans.sort()
    (found,) = tail_accounts(Matching(requests, {"behind": behind, "shop": times}), {"home": requests}, 0)
    assert (found.causes, found.found_count) == ((), 5)


@pytest.mark.real
@pytest.mark.parametrize(
    ("threads", "every_ms", "busy_ms"),
    [(1, 600, 200), (4, 400, 200), (8, 330, 300), (2, 1_000, 310), (20, 350, 330), (50, 320, 300)],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_waits_of_threads_that_have_work_at_any_time_are_not_claimed(threads, every_ms, busy_ms, seed):
    """Nothing serves the requests, as in a server of asynchronous handlers: other threads only seem to."""
    chance, times = random.Random(seed), ThreadTimes()
    requests = served()[0]
    for thread in range(threads):
        at_ms = chance.uniform(0, every_ms)
        while at_ms < requests[-1].to_ms:
            span = BusySpan(at_ms, at_ms + busy_ms * chance.uniform(0.8, 1.2), thread)
            times.spans.append(span)
            times.waits[thread].append(Period(span.from_ms + 1, span.to_ms - 1, LOCK))
            at_ms = max(span.to_ms + 1, at_ms + every_ms * chance.uniform(0.8, 1.2))
    times.spans.sort()
    times.pools = dict.fromkeys(range(threads), "scheduler-*")
    found = account_of(requests, times)
    assert (found.causes, found.found_count, found.unexplained_ms) == ((), 0, 300.0)


@pytest.mark.real
@pytest.mark.parametrize("users", [5, 100])
def test_the_thread_of_a_request_is_found_among_those_of_many_users(users):
    chance, times, requests = random.Random(users), ThreadTimes(pools=dict.fromkeys(range(users), POOL)), []
    for user in range(users):
        at_ms = chance.uniform(0, 100)
        while at_ms < 15_000:
            is_slow = chance.random() < 0.02
            length_ms = 10 + chance.expovariate(1 / 3) + (300 if is_slow else 0)
            span = BusySpan(at_ms + 0.8, at_ms + length_ms - 0.8, user)
            requests.append(TailRequest(int(at_ms), int(at_ms + length_ms)))
            times.spans.append(span)
            cause, wait_ms = (LOCK, 300) if is_slow else (STATEMENT, length_ms / 2)
            times.waits[user].append(Period(span.from_ms + 1, min(span.from_ms + 1 + wait_ms, span.to_ms), cause))
            at_ms += length_ms + 40
    times.spans.sort()
    found = account_of(sorted(requests), times)
    (cause,) = found.causes
    assert (cause.kind, cause.ms) == ("lock", pytest.approx(300, rel=0.02))


def test_of_a_slow_request_whose_thread_is_not_known_nothing_is_taken_off():
    """It is unexplained, rather than a request that did not wait at all: it takes a fifth of each cause."""
    requests, times = served(slow_ms=300)
    requests = [one._replace(to_ms=one.to_ms + 290) for one in requests]
    times.spans = [span._replace(to_ms=span.to_ms + 290) for span in times.spans]
    for request in requests:
        wait(times, request, 4, 580.0 if request.length_ms > 400 else 280.0, LOCK)
    (lost, *_) = slow_of([one for one in requests if one.length_ms > 400])
    times.spans = [span for span in times.spans if abs(span.from_ms - lost.from_ms) > 5]
    found = account_of(requests, times)
    assert (found.slow_count, found.found_count) == (5, 4)
    assert found.causes == (TailCause(*LOCK, 240.0, 240.0, 300.0),)  # and the fifth may have waited, too
    assert found.unexplained_ms == pytest.approx(60, abs=1)


@pytest.mark.parametrize("apart_ms", [0, 2, 20])
def test_of_two_requests_at_the_same_time_neither_has_the_cause_of_the_other(apart_ms):
    """Such as two parts of a page: one waits for a lock, and what the other does is not recorded."""
    chance, times = random.Random(apart_ms), ThreadTimes(pools=dict.fromkeys(range(10), POOL))
    hidden, locked = [], []
    for number in range(300):
        at_ms, length_ms = 1_000 * number, 330 if number % 25 == 3 else 30
        for requests, thread, less_ms in ((hidden, number % 5, 0), (locked, 5 + number % 5, apart_ms)):
            request = TailRequest(at_ms, at_ms + length_ms - less_ms)
            from_ms, to_ms = request.from_ms + chance.uniform(0.3, 1.5), request.to_ms - chance.uniform(0.3, 1.5)
            requests.append(request)
            times.spans.append(BusySpan(from_ms, to_ms, thread))
            if requests is locked and length_ms > 100:
                times.waits[thread].append(Period(from_ms + 1, from_ms + 281, LOCK))
    times.spans.sort()
    matching = Matching(sorted(hidden + locked), {"shop": times})
    found = {one.label: one for one in tail_accounts(matching, {"hidden": hidden, "locked": locked}, 0)}
    assert found["hidden"].causes == ()
    assert not found["hidden"].is_told
    if apart_ms == 20:  # else nothing tells them apart
        assert found["locked"].causes == (TailCause(*LOCK, 280.0, 280.0, 280.0),)


def test_a_thread_that_hands_its_request_over_waits_for_the_answer():
    """The thread that works for it in between fits nearly as well, and is of another pool."""
    requests, times = served()
    answer = TimeCause("latch", "FutureTask at Shop.pay")
    for request in slow_of(requests):
        wait(times, request, 2, 300.0, answer)
        from_ms, to_ms = request.from_ms + 1.5, request.to_ms - 1.5
        times.spans.append(BusySpan(from_ms, to_ms, 9))
        times.waits[9].append(Period(from_ms + 0.5, to_ms - 0.5, STATEMENT))
    times.spans.sort()
    times.pools[9] = "worker-*"
    assert account_of(requests, times).causes == (TailCause(*answer, 300.0, 300.0, 300.0),)


def test_a_thread_whose_wait_began_long_before_a_request_does_not_serve_it():
    requests, times = served()
    (request, *_) = slow_of(requests)
    times.spans = [
        BusySpan(request.from_ms - 100.0, request.to_ms - 1.0, 5),
        *[s for s in times.spans if s.thread != 1],
    ]
    times.pools[5] = POOL
    times.waits[5].append(Period(request.from_ms - 90.0, request.to_ms - 2.0, LOCK))
    (divided,) = Matching(requests, {"shop": times}).divide([request], len(requests))
    assert not divided.thread_is_known


def test_a_collection_during_a_wait_counts_once_and_also_where_no_thread_is_known():
    requests, times = served()
    for request in slow_of(requests):
        wait(times, request, 4, 200.0, LOCK)
        times.stops.append(Period(request.from_ms + 100.0, request.from_ms + 180.0, COLLECTION))
    found = account_of(requests, times)
    assert found.causes == (TailCause(*LOCK, 120.0, 120.0, 120.0), TailCause("stop", "", 80.0, 80.0, 80.0))
    assert "garbage collection 80 (80 to 80)" in tail_sentence(found)
    unknown = account_of(requests, ThreadTimes(stops=times.stops))
    assert unknown.causes == (TailCause("stop", "", 80.0, 80.0, 80.0),)


def test_waiting_for_a_cpu_comes_before_work_which_fills_at_most_the_rest():
    requests, times = served()
    for request in slow_of(requests):
        thread = thread_of(request)
        times.delays[thread].append(Delay(request.from_ms, request.from_ms + 1_000, 100.0, 308.0))
        times.samples[thread] += [(request.from_ms + 5.0 + 10 * at, TimeCause("cpu", "Shop.sum")) for at in range(22)]
    found = account_of(requests, times)
    assert found.causes == (
        TailCause("cpu", "Shop.sum", 208.0, 208.0, 208.0),
        TailCause("queue", "", 100.0, 100.0, 100.0),
    )


@pytest.mark.parametrize("is_exact", [True, False], ids=["its own times", "times of telemetry"])
def test_a_stopped_load_generator_explains_what_the_system_did_not_see(is_exact):
    samples = [
        Sample(request.from_ms, request.length_ms, "home", "200", "", "users 1-1", True, "", None, None, None)
        for request in served()[0]
    ]
    requests, times = served()
    times.spans = [BusySpan(request.from_ms + 1.0, request.from_ms + 9.0, thread_of(request)) for request in requests]
    stops = [ProcessStop("jmeter", r.from_ms / 1_000 + 0.01, r.from_ms / 1_000 + 0.31) for r in slow_of(requests)]
    window_ms = IntervalMs(0, 1_000_000)
    stalls = [Stall(r.from_ms + 10, r.from_ms + 310) for r in slow_of(requests)] if is_exact else []
    (found,) = tails_of(samples, (), window_ms, {"shop": times}, generator_stops(stops, stalls, 0), 0)
    assert found.causes == (TailCause("generator", "", 300.0, 300.0, 300.0),)


def test_labels_with_few_requests_or_a_small_difference_have_no_account():
    requests, times = served(count=90)
    matching = Matching(requests, {"shop": times})
    assert tail_accounts(matching, {"home": requests}, 0) == ()
    requests, times = served(slow_ms=9)
    assert tail_accounts(Matching(requests, {"shop": times}), {"home": requests}, 0) == ()


LINES = """\
P\tshop
H\t7\thttp-*
N\t0\tidle\t
N\t1\tlock\tTill at Shop.pay
N\t2\tcpu\tShop.sum
N\t3\tstop\tG1Full GC
W\t7\t0\t1000000\t50000
W\t7\t1\t1060000\t20000
W\t7\t0\t1100000\t5000
W\t-1\t3\t1070000\t3000
C\t7\t2\t1090000
L\t8\t2000000\t2030000
D\t8\t1\t1990000\t50000
Q\t7\t1000000\t1200000\t25000
T\tcpu\t20 ms
E\tlock\t1\t0
P\told
"""


def test_a_thread_has_work_between_two_waits_for_work_and_a_virtual_one_in_its_life():
    times = read_thread_times(LINES.splitlines(keepends=True))
    shop = times["shop"]
    assert shop.spans == [BusySpan(1_050.0, 1_100.0, 7), BusySpan(2_000.0, 2_030.0, 8)]
    assert shop.pools == {7: "http-*", 8: "(virtual threads)"}
    assert shop.stops == [Period(1_070.0, 1_073.0, COLLECTION)]
    assert list(shop.waits_within(7, 1_075.0, 1_100.0)) == [Period(1_060.0, 1_080.0, LOCK)]
    assert list(shop.samples_within(7, 1_050.0, 1_100.0)) == [TimeCause("cpu", "Shop.sum")]
    # It had work for 50 of the 200 ms: all of the delay belongs to them.
    assert shop.queued_ms(7, 1_050.0, 1_100.0) == 25.0
    assert shop.queued_ms(7, 1_050.0, 1_060.0) == 5.0
    assert shop.sample_period_ms == 20.0
    assert times["old"].spans == []


def test_dumps_of_a_virtual_thread_represent_all_of_its_time_that_is_not_recorded():
    requests, times = served()
    for request in slow_of(requests):
        wait(times, request, 2, 108.0, STATEMENT)
        seen = [(110, 240, LOCK), (240, 280, TimeCause("run", "Shop.sum"))]
        times.dumped[thread_of(request)] += [Period(request.from_ms + a, request.from_ms + b, c) for a, b, c in seen]
    found = account_of(requests, times)
    # 200 of the 308 ms are not recorded: the dumps saw the lock in 130 of 170 ms.
    assert [(one.kind, one.ms) for one in found.causes] == [("lock", 152.9), ("statement", 108.0), ("run", 47.1)]
