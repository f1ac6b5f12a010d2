"""The account of the tail: whose thread served a request, what its time was spent on, and what is not claimed."""

import pytest

from harness.jtl.sample import Sample
from harness.judge.tail import TailCause, tail_accounts, tails_of
from harness.judge.tail_matching import Matching, TailRequest
from harness.metrics.interval import IntervalMs
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
        "unexplained 82 (cannot tell by what)."
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


def test_a_stopped_load_generator_explains_what_the_system_did_not_see():
    samples = [
        Sample(request.from_ms, request.length_ms, "home", "200", "", "users 1-1", True, "", None, None, None)
        for request in served()[0]
    ]
    requests, times = served()
    times.spans = [BusySpan(request.from_ms + 1.0, request.from_ms + 9.0, thread_of(request)) for request in requests]
    stops = [ProcessStop("jmeter", r.from_ms / 1_000 + 0.01, r.from_ms / 1_000 + 0.31) for r in slow_of(requests)]
    window_ms = IntervalMs(0, 1_000_000)
    (found,) = tails_of(samples, (), window_ms, {"shop": times}, stops, 0)
    assert found.causes == (TailCause("generator", "", 300.0, 300.0, 300.0),)
    assert tails_of(samples, (), window_ms, {"shop": ThreadTimes()}, stops, 0) == ()


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
