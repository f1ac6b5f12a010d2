"""What changed inside a system: named when it grew beyond the scatter of its samples, and not otherwise."""

import gzip
import subprocess
import time
from dataclasses import replace

import pytest

from harness.compare.causes import GrownCost, causes
from harness.compare.render import cost_texts
from harness.system.profile import (
    Allocation,
    Collections,
    LockWait,
    MethodUse,
    OtherWait,
    ProcessProfile,
    Safepoints,
    Thrown,
    profiles,
)
from harness.system.profile_events import read_events
from harness.system.profile_files import Profiler
from harness.system.statements import DatabaseUse, StatementInterval, StatementUse
from tests.support.java_program import java_command
from tests.support.results import label_result, run_result, tail_account

METHODS = (MethodUse("shop.Cart.sum", 1_000, 1_000), MethodUse("shop.Page.show", 500, 1_500))
PROFILE = ProcessProfile("shop", 60.0, 2_000, METHODS, 0.0, (), 0, (), Collections(10, 100.0, 20.0))


def without_intervals(found):
    return tuple(replace(one, low=None, high=None) for one in found)


def run(profile=PROFILE, sample_count=10_000, **changes):
    total = label_result("TOTAL", sample_count=sample_count)
    return run_result("tiny/run-01_1", total=total, profiles=(profile,) if profile else (), **changes)


def test_equal_profiles_and_runs_without_one_have_no_causes():
    assert causes([run()], [run()]) == ()
    assert causes([run(None)], [run()]) == ()
    assert causes([run()], [run(None)]) == ()


def test_twice_the_load_with_the_same_cost_per_request_is_no_cause():
    doubled = tuple(MethodUse(use.method, 2 * use.self_count, 2 * use.total_count) for use in METHODS)
    profile = replace(PROFILE, sample_count=4_000, methods=doubled, collections=Collections(20, 200.0, 20.0))
    assert causes([run()], [run(profile, 20_000)]) == ()


def test_a_method_that_costs_more_per_request_is_named_with_both_costs():
    slower = (MethodUse("shop.Cart.sum", 3_000, 3_000), METHODS[1])
    found = causes([run()], [run(replace(PROFILE, sample_count=4_000, methods=slower))])
    assert without_intervals(found) == (GrownCost("method", "shop", "shop.Cart.sum", 1.0, 3.0, "ms", is_bound=False),)
    # Counts of 1,000 and 3,000 samples, each 1 ms per 1,000 requests: 1.96 errors of 63.2.
    assert cost_texts(found[0]).growth == "+2 ms (1.88 to 2.12)"


def test_the_cost_of_a_method_is_that_of_the_period_of_its_profile():
    # A sample each 20 ms: half as many samples are the same cost, and as many are twice the cost.
    halves = tuple(MethodUse(use.method, use.self_count // 2, use.total_count // 2) for use in METHODS)
    profile = replace(PROFILE, sample_period_ms=20.0)
    assert causes([run()], [run(replace(profile, sample_count=1_000, methods=halves))]) == ()
    (found, *_) = without_intervals(causes([run()], [run(profile)]))
    assert found == GrownCost("method", "shop", "shop.Cart.sum", 1.0, 2.0, "ms", is_bound=False)


@pytest.mark.parametrize("count", [1_050, 1_090])
def test_a_method_within_the_scatter_of_samples_is_not_named(count):
    # 1,000 samples have a standard error of 32.
    more = (MethodUse("shop.Cart.sum", count, count), METHODS[1])
    assert causes([run()], [run(replace(PROFILE, methods=more))]) == ()


def with_tail(*tails, p99_ms=500):
    pay = label_result("Pay", percentiles_ms={"50": 100, "99": p99_ms})
    return run(tails=tails, labels=(pay,))


def test_what_slow_requests_wait_longer_for_is_named_first_with_its_interval_and_with_the_unexplained():
    base, new = tail_account(lock=200, statement=180), tail_account(900, lock=550, statement=185, stop=20)
    lock, unexplained = causes([with_tail(base)], [with_tail(new)])
    # Two intervals of 10 ms to either side.
    assert (lock.low, lock.high) == pytest.approx((350 - 10 * 2**0.5, 350 + 10 * 2**0.5))
    assert without_intervals([lock]) == (
        GrownCost("slow requests of Pay", "", "lock at shop.Till", 200.0, 550.0, "ms", is_bound=False),
    )
    assert (lock.what, cost_texts(lock).growth) == (
        "slow requests of Pay: lock at shop.Till",
        "+350 ms (336 to 364)",
    )
    assert unexplained == GrownCost("slow requests of Pay", "", "unexplained", 20.0, 145.0, "ms", is_bound=False)
    assert causes([with_tail(base)], [with_tail(tail_account(lock=205, statement=180))]) == ()


def test_where_the_baseline_does_not_explain_slow_requests_all_of_their_time_is_the_bound():
    new = tail_account(900, lock=800)
    (grown, *_) = causes([with_tail(p99_ms=130)], [with_tail(new)])
    assert grown == GrownCost("slow requests of Pay", "", "lock at shop.Till", 30.0, 800.0, "ms", is_bound=True)
    assert causes([with_tail(p99_ms=1_000)], [with_tail(new)]) == ()
    unknown = replace(tail_account(900, lock=100), unexplained_ms=800.0)
    assert causes([with_tail(tail_account(lock=10))], [with_tail(unknown)]) == ()


@pytest.mark.parametrize(
    ("before", "after", "growth"),
    [
        # Runs that scatter more than their requests have the interval of their scatter: 4.3 standard errors of 2 and 2.
        ((200, 220), (540, 560), "+340 ms (279 to 401)"),
        ((200, 201), (550, 551), "+350 ms (340 to 360)"),
        ((200, 201), (12_550, 12_551), "+12350 ms (12340 to 12360)"),
        ((200, 500), (300, 560), None),
        ((200, 220), (210, 700), None),
    ],
)
def test_the_interval_of_several_runs_is_that_of_their_scatter_where_it_is_larger(before, after, growth):
    sides = ([with_tail(tail_account(ms + 20, lock=ms)) for ms in side] for side in (before, after))
    found = {one.name: cost_texts(one).growth for one in causes(*sides)}
    assert found.get("lock at shop.Till") == growth


def test_an_entry_that_the_baseline_does_not_list_has_a_bound():
    wait = LockWait("shop.Till", "shop.Pay.pay", 900, 30_000.0, 40.0, "http-*")
    found = causes([run()], [run(replace(PROFILE, wait_ms=30_000.0, locks=(wait,)))])
    assert found == (GrownCost("lock", "shop", "shop.Till at shop.Pay.pay", 0.0, 3.0, "ms", is_bound=True),)


def test_a_longer_wait_for_a_connection_is_named_unless_the_baseline_did_not_record_waits():
    short, long = (
        (
            OtherWait("pool", "", "shop.Pay.find", 900, total_ms, 60.0),
            OtherWait("sleep", "", "shop.Pay.nap", 900, 9e6, 60.0),
        )
        for total_ms in (10_000.0, 40_000.0)
    )
    found = causes([run(replace(PROFILE, other_waits=short))], [run(replace(PROFILE, other_waits=long))])
    assert without_intervals(found) == (
        GrownCost("wait for a connection", "shop", "shop.Pay.find", 1.0, 4.0, "ms", is_bound=False),
    )
    assert causes([run()], [run(replace(PROFILE, other_waits=long))]) == ()


@pytest.mark.parametrize(("sample_count", "is_named"), [(4, False), (100, True)])
def test_an_allocation_of_a_few_large_samples_is_not_named(sample_count, is_named):
    # One megabyte a sample: the error is a thousand KB times the square root of their number.
    size = 1024 * 1000
    made = Allocation("long[]", "shop.Page.show", sample_count * size, sample_count, size)
    found = causes([run()], [run(replace(PROFILE, allocated_bytes=made.bytes_estimated, allocations=(made,)))])
    assert [one.kind for one in found] == ["allocation"] * is_named


def test_statements_pauses_and_allocations_are_causes_times_first_and_the_largest_growth_first():
    made = Allocation("[B", "shop.Page.show", 1024 * 100_000)
    grown = replace(
        PROFILE, allocated_bytes=made.bytes_estimated, allocations=(made,), collections=Collections(40, 900.0, 50.0)
    )
    before, after = (
        DatabaseUse("till", 10_000, ms, (StatementUse("SELECT ?", 10_000, ms, None, None, None, None),))
        for ms in (10_000.0, 50_000.0)
    )
    found = causes([run(databases=(before,))], [run(grown, databases=(after,))])
    assert [
        (cause.kind, cause.name, round(cause.baseline, 3), round(cause.contender, 3), cause.unit) for cause in found
    ] == [
        ("statement", "SELECT ?", 1.0, 5.0, "ms"),
        ("garbage collection", "pauses of garbage collections", 0.01, 0.09, "ms"),
        ("allocation", "[B at shop.Page.show", 0.0, 10.0, "KB"),
    ]


def test_statements_of_an_interval_are_compared_by_its_requests_and_never_with_those_of_a_whole_load():
    use = StatementUse("SELECT ?", 1_000, 10_000.0, None, None, None, None)
    of_load = DatabaseUse("till", 1_000, 10_000.0, (use,))
    of_interval = replace(of_load, interval=StatementInterval(5.0, 15.0, 2_000))
    slower = replace(of_load, interval=StatementInterval(5.0, 15.0, 1_000))
    (found,) = causes([run(databases=(of_interval,))], [run(databases=(slower,))])
    assert (found.kind, found.baseline, found.contender) == ("statement", 5.0, 10.0)
    assert causes([run(databases=(of_load,))], [run(databases=(slower,))]) == ()
    empty = replace(of_interval, interval=StatementInterval(5.0, 15.0, 0))
    assert causes([run(databases=(of_interval,))], [run(databases=(empty,))]) == ()


def with_exceptions(*counts):
    """Return a profile with exceptions of Page, Cart, … in these numbers."""
    thrown = tuple(
        Thrown("java.io.IOException", f"shop.{name}.read", count)
        for name, count in zip(("Page", "Cart", "Till"), counts, strict=False)
    )
    safepoints = Safepoints(0, 0.0, 0.0, "")
    return replace(PROFILE, safepoints=safepoints, thrown_count=sum(counts), thrown=thrown)


def test_an_exception_that_each_request_creates_more_often_is_named():
    found = causes([run(with_exceptions(500))], [run(with_exceptions(500, 10_000))])
    name = "java.io.IOException at shop.Cart.read"
    assert found == (GrownCost("exception", "shop", name, 0.0, 1.0, "", is_bound=True),)
    (more,) = causes([run(with_exceptions(500))], [run(with_exceptions(900))])
    assert more.name == "java.io.IOException at shop.Page.read"
    assert (more.baseline, more.contender) == pytest.approx((0.05, 0.09))


@pytest.mark.parametrize(
    ("before", "after", "sample_count"),
    [
        ((500, 100), (500, 100), 10_000),  # alike
        ((500, 100), (1_000, 200), 20_000),  # twice the load
        ((500, 100), (540, 130), 10_000),  # 8 %, and within three standard errors of 15
        ((5_000, 10), (5_000, 40), 10_000),  # 30 of 5,040 are no cause
        ((500, 100), (), 10_000),  # fewer
        ((), (8,), 10_000),  # eight can be chance
    ],
)
def test_exceptions_of_sides_that_do_not_differ_are_not_named(before, after, sample_count):
    assert causes([run(with_exceptions(*before))], [run(with_exceptions(*after), sample_count)]) == ()


def test_exceptions_that_one_side_did_not_record_are_not_compared():
    assert causes([run()], [run(with_exceptions(9_000))]) == ()


def test_methods_that_were_sampled_in_different_ways_are_not_compared():
    slower = (MethodUse("shop.Cart.sum", 3_000, 3_000), METHODS[1])
    other = replace(PROFILE, sample_count=4_000, methods=slower, recorder="async-profiler, ctimer")
    assert causes([run()], [run(other)]) == ()
    before = replace(PROFILE, recorder="async-profiler, ctimer")
    assert [cause.name for cause in causes([run(before)], [run(other)])] == ["shop.Cart.sum"]


# What is planted allocates: that is recorded on a busy machine as on an idle one, unlike samples of running threads.
SHOP = """
import java.util.concurrent.atomic.AtomicLong;
public class Shop {
    static final AtomicLong served = new AtomicLong();
    static volatile Object kept;
    static volatile boolean audits;
    public static void main(String[] arguments) throws Exception {
        Thread worker = new Thread(Shop::serve);
        worker.setDaemon(true);
        worker.start();
        for (int word = System.in.read(); word >= 0; word = System.in.read()) {
            audits = word == 'a';
            System.out.println(served.get());
        }
    }
    static void serve() {
        try {
            while (true) {
                Thread.sleep(5);
                kept = new long[32];
                if (audits) audit();
                served.incrementAndGet();
            }
        } catch (InterruptedException error) {
            return;
        }
    }
    static void audit() {
        kept = new byte[1 << 20];
        try {
            throw new IllegalStateException();
        } catch (IllegalStateException error) {
            return;
        }
    }
}
"""


@pytest.mark.counterpart
def test_the_planted_allocation_and_exception_of_a_real_jvm_are_the_only_ones_named(tmp_path):
    """One recording of a JVM, first without and then with what is planted: read as that of a profiled run is."""
    command = java_command("Shop", SHOP, "-Xmx64m", "-XX:+UseSerialGC")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as jvm:

        def served(audits):
            """Return the number of requests so far; from now on each is audited, or none."""
            jvm.stdin.write(b"a" if audits else b".")
            jvm.stdin.flush()
            return int(jvm.stdout.readline())

        def measured(audits):
            """Return the first and the last instant of two whole seconds, and the requests between them."""
            served(audits)
            time.sleep(1.0 - time.time() % 1.0)
            begin_ms, before = time.time_ns() // 1_000_000, served(audits)
            time.sleep(1.95 - time.time() % 1.0)  # allocations are sampled in real time
            return begin_ms, time.time_ns() // 1_000_000, served(audits) - before

        try:
            served(False)
            with Profiler({"shop": jvm.pid}, tmp_path, {}) as profiler:
                windows = measured(False), measured(True)
        finally:
            jvm.kill()
    profiler.write(tmp_path / "profile.tsv.gz")
    assert profiler.unknown == []
    with gzip.open(tmp_path / "profile.tsv.gz", "rt") as lines:
        events = read_events(lines)
    plain, audited = (run(*profiles(events, first_ms, last_ms), count) for first_ms, last_ms, count in windows)
    # Some samples at another allocation represent what was planted: they are within the error of so few samples.
    (found,) = [one for one in causes([plain], [audited]) if one.kind == "allocation"]
    assert (found.process, found.name, found.unit) == ("shop", "byte[] at Shop.audit", "KB")
    # 1 MB each; the JVM samples what it allocates.
    assert 512 < found.contender < 2_048
    assert found.baseline < 100
    assert found.name not in [one.name for one in causes([audited], [plain])]
    (thrown,) = [one for one in causes([plain], [audited]) if one.kind == "exception"]
    assert (thrown.process, thrown.name) == ("shop", "java.lang.IllegalStateException at Shop.audit")
    assert round(thrown.contender, 1) == 1.0
    assert thrown.baseline < 0.1  # the second in which auditing begins is the last of the other window, too
    assert "exception" not in [one.kind for one in causes([audited], [plain])]
