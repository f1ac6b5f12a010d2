"""Thread pools and waits of a profile: shares of the threads' time, and what is no pool."""

from harness.system.profile_events import EventRow
from harness.system.threads import IDLE, RUNNING, WAITING, ThreadPool, Wait, thread_pools, thread_waits

S = 1_000_000_000
FETCH = ("java.lang.Thread.sleep", "shop.Bank.fetch")


def threads(pool, second, state, threads, stack=()):
    """Return the samples of so many threads in one second."""
    return EventRow(second, stack, pool, state, threads * 10, threads * S, 0)


def counted(pool, *numbers):
    """Return the number of threads in the seconds 1, 2, …."""
    return [EventRow(second, (), pool, "", number, 0, 0) for second, number in enumerate(numbers, 1)]


def test_a_pool_has_its_mean_size_shares_and_seconds_without_an_idle_thread():
    samples = [
        threads("http-*", 1, RUNNING, 1),
        threads("http-*", 1, WAITING, 3, FETCH),
        threads("http-*", 2, IDLE, 2),
        threads("http-*", 2, WAITING, 2, FETCH),
    ]
    blocked = [EventRow(1, (), "http-*", "", 4, S, S)]
    # Four threads for two seconds: one second running, five waiting (one of them for a lock), two idle.
    assert thread_pools(samples, counted("http-*", 4, 4), blocked, 2) == (
        ThreadPool("http-*", 4.0, 0.125, 0.125, 0.5, 0.25, 0.5),
    )


def test_single_threads_and_pools_without_work_are_left_out():
    samples = [threads("main", 1, RUNNING, 1), threads("spare-*", 1, IDLE, 5), threads("old-*", 1, RUNNING, 2)]
    counts = [*counted("main", 1), *counted("spare-*", 5), *counted("old-*", 2)]
    assert [pool.name for pool in thread_pools(samples, counts, [], 1)] == ["old-*"]
    assert thread_pools([], [], [], 1) == ()


def test_a_busy_machine_that_takes_fewer_samples_does_not_shrink_a_pool():
    samples = [threads("http-*", 1, RUNNING, 1), threads("http-*", 1, WAITING, 1, FETCH)]
    # Two of eight thread-seconds.
    blocked = [EventRow(1, (), "http-*", "", 4, 2 * S, S)]
    (pool,) = thread_pools(samples, counted("http-*", 8), blocked, 1)
    assert (pool.thread_count, pool.running_ratio, pool.lock_ratio) == (8.0, 0.5, 0.25)
    assert thread_waits(samples, counted("http-*", 8), 1) == (Wait("shop.Bank.fetch", "java.lang.Thread.sleep", 4.0),)


def test_waits_are_those_of_threads_with_work_and_the_largest_comes_first():
    read = ("sun.nio.ch.Net.poll", "shop.Feed.read")
    samples = [
        threads("http-*", 1, WAITING, 1, read),
        threads("http-*", 1, WAITING, 2, FETCH),
        threads("http-*", 2, WAITING, 1, FETCH),
        threads("http-*", 2, IDLE, 9),
    ]
    # Of 13 samples of ten threads on average, three and one.
    assert thread_waits(samples, counted("http-*", 10, 10), 2) == (
        Wait("shop.Bank.fetch", "java.lang.Thread.sleep", 2.31),
        Wait("shop.Feed.read", "sun.nio.ch.Net.poll", 0.77),
    )
