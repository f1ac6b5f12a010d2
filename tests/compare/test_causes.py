"""What changed inside a system: named when it grew beyond the scatter of its samples, and not otherwise."""

import contextlib
import gzip
import subprocess
import time
from dataclasses import replace

import pytest

from harness.compare.causes import Cause, causes
from harness.system.profile import (
    Allocation,
    Collections,
    LockWait,
    MethodUse,
    ProcessProfile,
    profiles,
    read_events,
)
from harness.system.profile_files import Profiler
from harness.system.statements import DatabaseUse, StatementUse
from tests.support.results import label_result, run_result

METHODS = (MethodUse("shop.Cart.sum", 1_000, 1_000), MethodUse("shop.Page.show", 500, 1_500))
PROFILE = ProcessProfile("shop", 60.0, 2_000, METHODS, 0.0, (), 0, (), Collections(10, 100.0, 20.0))


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
    assert found == (Cause("method", "shop", "shop.Cart.sum", 1.0, 3.0, "ms", is_bound=False),)


def test_the_cost_of_a_method_is_that_of_the_period_of_its_profile():
    # A sample each 20 ms: half as many samples are the same cost, and as many are twice the cost.
    halves = tuple(MethodUse(use.method, use.self_count // 2, use.total_count // 2) for use in METHODS)
    profile = replace(PROFILE, sample_period_ms=20.0)
    assert causes([run()], [run(replace(profile, sample_count=1_000, methods=halves))]) == ()
    (found, *_) = causes([run()], [run(profile)])
    assert found == Cause("method", "shop", "shop.Cart.sum", 1.0, 2.0, "ms", is_bound=False)


@pytest.mark.parametrize("count", [1_050, 1_090])
def test_a_method_within_the_scatter_of_samples_is_not_named(count):
    # 1,000 samples have a standard error of 32.
    more = (MethodUse("shop.Cart.sum", count, count), METHODS[1])
    assert causes([run()], [run(replace(PROFILE, methods=more))]) == ()


def test_an_entry_that_the_baseline_does_not_list_has_a_bound():
    wait = LockWait("shop.Till", "shop.Pay.pay", 900, 30_000.0, 40.0, "http-*")
    found = causes([run()], [run(replace(PROFILE, wait_ms=30_000.0, locks=(wait,)))])
    assert found == (Cause("lock", "shop", "shop.Till at shop.Pay.pay", 0.0, 3.0, "ms", is_bound=True),)


def test_allocations_pauses_and_statements_are_causes():
    made = Allocation("[B", "shop.Page.show", 1024 * 100_000)
    grown = replace(
        PROFILE, allocated_bytes=made.bytes_estimated, allocations=(made,), collections=Collections(40, 900.0, 50.0)
    )
    before, after = (
        DatabaseUse("till", 10_000, ms, (StatementUse("SELECT ?", 10_000, ms, None, None, None, None),))
        for ms in (10_000.0, 50_000.0)
    )
    found = causes([run(databases=(before,))], [run(grown, databases=(after,))])
    assert [(cause.kind, cause.name, round(cause.base, 3), round(cause.new, 3), cause.unit) for cause in found] == [
        ("allocation", "[B at shop.Page.show", 0.0, 10.0, "KB"),
        ("garbage collection", "pauses of garbage collections", 0.01, 0.09, "ms"),
        ("statement", "SELECT ?", 1.0, 5.0, "ms"),
    ]


SHOP = """
import java.util.concurrent.atomic.AtomicLong;
public class Shop {
    static final AtomicLong served = new AtomicLong();
    static volatile long kept;
    public static void main(String[] arguments) throws Exception {
        boolean audits = arguments.length > 0;
        Thread worker = new Thread(() -> {
            while (true) {
                total();
                if (audits) audit();
                served.incrementAndGet();
            }
        });
        worker.setDaemon(true);
        worker.start();
        while (System.in.read() >= 0) System.out.println(served.get());
    }
    static void total() {
        for (int round = 0; round < 300_000; round++) kept += round * kept + 7;
    }
    static void audit() {
        for (int round = 0; round < 900_000; round++) kept += round ^ kept;
    }
}
"""


def served(jvm):
    """Return the number of requests so far, which the JVM prints for every character."""
    jvm.stdin.write(b".")
    jvm.stdin.flush()
    return int(jvm.stdout.readline())


@pytest.mark.real
def test_the_planted_method_of_a_real_jvm_is_named_first(tmp_path):
    """Two JVMs at a time, one with a method that the other does not have: recorded and read as a profiled run is."""
    source, folder = tmp_path / "Shop.java", tmp_path / "system"
    source.write_text(SHOP)
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        jvms = {}
        for name, words in (("plain", []), ("audited", ["audits"])):
            command = ["java", "-Xmx64m", "-XX:+UseSerialGC", str(source), *words]
            jvm = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            stack.callback(jvm.kill)
            jvms[name] = jvm
        for jvm in jvms.values():
            assert served(jvm) >= 0
        with Profiler({name: jvm.pid for name, jvm in jvms.items()}, folder, {}) as profiler:
            begin_ms, before = time.time_ns() // 1_000_000, {name: served(jvm) for name, jvm in jvms.items()}
            time.sleep(3)  # events are sampled in real time
            counts = {name: served(jvm) - before[name] for name, jvm in jvms.items()}
            end_ms = time.time_ns() // 1_000_000
    profiler.write(tmp_path / "profile.tsv.gz")
    assert profiler.unknown == []
    with gzip.open(tmp_path / "profile.tsv.gz", "rt") as lines:
        found = {one.process: replace(one, process="shop") for one in profiles(read_events(lines), begin_ms, end_ms)}
    plain, audited = (run(found[name], counts[name]) for name in ("plain", "audited"))
    first = causes([plain], [audited])[0]
    assert (first.kind, first.name, first.is_bound) == ("method", "Shop.audit", True)
    assert "Shop.audit" not in [one.name for one in causes([audited], [plain])]
