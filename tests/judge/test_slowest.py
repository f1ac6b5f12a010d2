"""The slowest samples of a profiled run, with what the system did meanwhile."""

from harness.judge.slowest import SLOWEST_MOST, SlowSample, explained, slowest_samples
from harness.metrics.interval import IntervalMs
from harness.report.run_tables import slowest_table
from harness.run.telemetry.table import UsageSeries
from harness.system.profile_events import read_events
from tests.support.factories import sample

EVENTS = """\
P\tshop
E\tgc\t1001\t-1\tG1New\tG1\t1\t30000000\t30000000
E\tgc\t1009\t-1\tG1New\tG1\t1\t90000000\t90000000
S\t0\tshop.Page.show
E\tlock\t1002\t0\tshop.Till\t\t4\t800000000\t400000000
E\tlock\t1002\t0\tshop.Bank\t\t1\t7000000\t7000000
E\tlock\t1003\t0\tshop.Bank\t\t1\t9000000000\t9000000000
S\t1\tsun.nio.ch.Net.poll;shop.Stock.read
S\t2\tjava.lang.Object.wait;shop.Mail.await
E\tthread\t1000\t1\thttp-*\twait\t20\t2000000000\t0
E\tthread\t1002\t1\thttp-*\twait\t40\t4000000000\t0
E\tthread\t1002\t2\thttp-*\tidle\t90\t9000000000\t0
S\t3\tjava.lang.Thread.sleep;shop.Clock.tick
E\tthread\t999\t3\tclock\twait\t90\t9000000000\t0
E\tthread\t1001\t3\tclock\twait\t90\t27000000000\t0
E\tthread\t1006\t3\tclock\twait\t90\t36000000000\t0
"""


def test_the_slowest_samples_of_the_load_that_ended_in_the_window_come_first():
    samples = [
        sample(elapsed_ms=700, start_ms=1_000_000),
        sample(elapsed_ms=900, start_ms=1_001_000),
        sample(elapsed_ms=9_000, start_ms=1_001_000),  # ends after the window
        sample(elapsed_ms=950, start_ms=1_000_500, thread_name="setUp 1-1"),
        sample(elapsed_ms=980, start_ms=1_000_500, label="Log-In"),
        sample(elapsed_ms=990, start_ms=1_000_500, message="Number of samples in transaction : 2"),
    ]
    found = slowest_samples(samples, ["Log-In"], IntervalMs(1_000_000, 1_005_000))
    assert [one.elapsed_ms for one in found] == [900, 700]
    many = [sample(elapsed_ms=number, start_ms=1_000_000) for number in range(1, 101)]
    assert [one.elapsed_ms for one in slowest_samples(many, [], IntervalMs(0, 2_000_000))] == list(range(100, 80, -1))
    assert SLOWEST_MOST == 20


def test_a_slow_sample_has_what_happened_from_its_start_to_its_end():
    slow = sample("Pay", 1_800, 1_000_900, code="201", thread_name="Users 1-3")
    host = UsageSeries("host", (1.0, 2.0, 3.0, 9.0), (1.0, 2.0, 1.5, 0.1), (1, 1, 1, 1))
    (found,) = explained([slow], read_events(EVENTS.splitlines()), [host], 1_000)
    # From second 1000 to second 1002: telemetry of the ends of these seconds, 1 to 3 s after the start of the load.
    # Nine threads of the clock wait always, from second 999 to 1006: the six thread-seconds of the stock are unusual.
    lock, wait = "shop.Till at shop.Page.show", "shop.Stock.read in sun.nio.ch.Net.poll: 2.0 threads, usually 0.8"
    assert found == SlowSample(0.9, 1_800, "Pay", "Users 1-3", "201", 30.0, 807.0, 1.5, "", lock, wait)
    table = slowest_table([found])
    assert (
        "| label | thread | code | lock most waited for | where more threads waited than usual | start s | ms |"
        in table
    )
    assert f"| Pay | Users 1-3 | 201 | {lock} | {wait} | 0.9 | 1800 | 30 | 807 | 150 |" in table


def test_of_several_processes_the_one_that_waited_is_named_and_hardly_any_wait_is_not():
    others = "P\tbank\nS\t0\tjava.lang.Thread.sleep;bank.Gate.open\nE\tthread\t1002\t0\tx-*\twait\t1\t{}\t0\n"
    slow = sample("Pay", 1_800, 1_000_900)
    (found,) = explained([slow], read_events((EVENTS + others.format(9_000_000_000)).splitlines()), [], 1_000)
    assert found.lock == "shop: shop.Till at shop.Page.show"
    assert found.wait == "bank: bank.Gate.open in java.lang.Thread.sleep: 3.0 threads, usually 1.1"
    (found,) = explained([slow], read_events(others.format(200_000_000).splitlines()), [], 1_000)
    assert (found.lock, found.wait) == ("", "")


def test_without_telemetry_the_cpu_is_not_known():
    (found,) = explained([sample(start_ms=1_005_000)], read_events(EVENTS.splitlines()), [], 1_000)
    assert (found.pause_ms, found.wait_ms, found.host_cores) == (0.0, 0.0, None)
