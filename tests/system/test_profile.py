"""Profiles of JVMs: events cut to the window and summed up, and a real JVM whose hot spots are known."""

import gzip
import os
import subprocess
import time
from dataclasses import dataclass, replace

import pytest

from harness.base.install.toolchain import ensure_flame_graphs
from harness.report.profiles import profile_text
from harness.system.agent import agent_library
from harness.system.profile import (
    Allocation,
    Collections,
    LockWait,
    MethodUse,
    ProcessProfile,
    Safepoints,
    Thrown,
    profiles,
)
from harness.system.profile_events import read_events
from harness.system.profile_files import NO_AGENT, NO_JVM, NOT_A_JVM, Profiler
from harness.system.threads import ThreadPool, Wait
from tests.support.java_program import java_command
from tests.support.processes import wait_for

EVENTS = """\
P\tshop
S\t0\tshop.Cart.sum;shop.Cart.sum;shop.Page.show
S\t1\tjava.util.HashMap.get;shop.Page.show
S\t2\tjava.lang.Object.wait;jdk.internal.misc.Unsafe.park
E\tcpu\t9\t1\t\t\t500\t0\t0
E\tcpu\t10\t0\t\t\t60\t0\t0
E\tcpu\t11\t0\t\t\t60\t0\t0
E\tcpu\t11\t1\t\t\t30\t0\t0
E\tcpu\t13\t1\t\t\t500\t0\t0
E\tlock\t10\t1\tshop.Till\thttp-*\t2\t30000000\t20000000
E\tlock\t11\t1\tshop.Till\tcleaner\t1\t5000000\t5000000
E\tlock\t11\t2\tjava.lang.Object\t\t1\t1000\t1000
E\talloc\t12\t1\t[B\t\t3\t4194304\t2097152
E\tgc\t12\t-1\tG1New\tG1 Evacuation Pause\t2\t12000000\t9000000
P\ttill
E\tcpu\t10\t0\t\t\t1\t0"""
AGENT_EVENTS = """\
P\tshop
R\tasync-profiler, ctimer\t
S\t0\tjava.util.ArrayList.get;shop.Cart.sum;shop.Page.show
S\t1\tjava.util.HashMap.get;shop.Page.show
E\tthrow\t9\t1\tjava.io.IOException\t\t70\t0\t0
E\tthrow\t10\t1\tshop.PageError\t\t3\t0\t0
E\tthrow\t10\t0\tjava.lang.IndexOutOfBoundsException\t\t3\t0\t0
E\tthrow\t11\t1\tshop.PageError\t\t1\t0\t0
E\tthrow\t11\t0\tjava.lang.IndexOutOfBoundsException\t\t1\t0\t0
E\tthrow\t11\t1\tjava.io.IOException\t\t1\t0\t0
E\tsafepoint\t9\t-1\tG1CollectForAllocation\t\t1\t80000000\t80000000
E\tsafepoint\t10\t-1\tG1CollectForAllocation\t\t2\t8000000\t6000000
E\tsafepoint\t11\t-1\tICBufferFull\t\t1\t1000000\t1000000
E\tthread\t10\t-1\thttp-*\trun\t10\t1000000000\t0
E\tthread\t10\t1\thttp-*\twait\t10\t1000000000\t0
E\tthread\t11\t1\thttp-*\twait\t10\t1000000000\t0
E\tthread\t11\t-1\thttp-*\tidle\t10\t1000000000\t0
E\tthread\t13\t-1\thttp-*\tidle\t10\t1000000000\t0
E\tblocked\t10\t-1\thttp-*\t\t4\t500000000\t200000000
E\tpool\t10\t-1\thttp-*\t\t2\t0\t0
E\tpool\t11\t-1\thttp-*\t\t2\t0\t0
"""
HOT = """
import java.util.ArrayList;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
public class Hot {
    static final AtomicInteger made = new AtomicInteger();
    static final class Till {}
    static final Till till = new Till();
    static volatile Object kept;
    public static void main(String[] arguments) throws Exception {
        for (int number = 0; number < 3; number++) {
            new Thread(Hot::pay, "payer-" + number).start();
        }
        new Thread(Hot::fill).start();
        var pool = Executors.newFixedThreadPool(4, task -> new Thread(task, "clerk-" + made.incrementAndGet()));
        for (int number = 0; number < 4; number++) {
            Callable<Object> work = number < 3 ? Hot::fetch : () -> null;
            pool.submit(work);
        }
        System.out.println("ready");
    }
    static void pay() {
        while (true) {
            synchronized (till) {
                long sum = 0;
                long until = System.nanoTime() + 5_000_000;
                while (System.nanoTime() < until) sum += spin();
                kept = sum;
            }
        }
    }
    static long spin() {
        long sum = 0;
        for (int round = 0; round < 20_000; round++) sum += round * sum + 7;
        return sum;
    }
    static Object fetch() throws Exception {
        while (true) Thread.sleep(500);
    }
    static Object pick() {
        return new ArrayList<>().get(0);
    }
    static void reject() {
        try {
            try {
                pick();
            } catch (IndexOutOfBoundsException error) {
                throw new IllegalStateException(error);
            }
        } catch (IllegalStateException error) {
            kept = error;
        }
    }
    static void fill() {
        try {
            while (true) {
                reject();
                kept = new byte[1 << 20];
                Thread.sleep(20);
            }
        } catch (InterruptedException error) {
            return;
        }
    }
}
"""


def test_events_are_cut_to_the_window_and_the_largest_come_first():
    shop, till = profiles(read_events(EVENTS.splitlines(keepends=True)), 10_000, 12_999)
    assert shop == ProcessProfile(
        process="shop",
        length_s=2.999,
        sample_count=150,
        # The recursive method counts once per sample; samples of the seconds 9 and 13 are outside of the window.
        methods=(MethodUse("shop.Cart.sum", 120, 120), MethodUse("java.util.HashMap.get", 30, 30)),
        wait_ms=35.0,
        locks=(LockWait("shop.Till", "shop.Page.show", 3, 35.0, 20.0, "http-*"),),
        allocated_bytes=4_194_304,
        allocations=(Allocation("[B", "shop.Page.show", 4_194_304, 3, 2_097_152),),
        collections=Collections(2, 12.0, 9.0),
    )
    # The last line of an incomplete file is skipped.
    assert till == ProcessProfile("till", 2.999, 0, (), 0.0, (), 0, (), Collections(0, 0.0, 0.0))


@pytest.mark.parametrize(("period", "ms"), [("10 ms", 10.0), ("20 ms", 20.0), ("1 s", 1_000.0), ("", 10.0)])
def test_the_period_of_the_samples_is_that_of_the_recording(period, ms):
    """Files without one are of recordings with 10 ms."""
    lines = [*EVENTS.splitlines()[:5], f"T\tcpu\t{period}", "P\ttill"]
    shop, till = profiles(read_events(lines), 10_000, 12_999)
    assert (shop.sample_period_ms, till.sample_period_ms) == (ms, 10.0)
    rest = [MethodUse("shop.Cart.sum", 500, 500)]
    text = profile_text(replace(shop, sample_count=500, methods=tuple(rest)), "run-01_1")
    assert f"500 samples of running Java threads, taken every {ms:g} ms." in text


def test_the_report_has_shares_rates_and_pauses():
    shop, till = profiles(read_events(EVENTS.splitlines()), 10_000, 12_000)
    text = profile_text(shop, "run-01_1")
    assert "share of 150 samples of running Java threads" in text
    assert "| shop.Cart.sum | 80.0 | 80.0 |" in text
    assert "on average 0.02 threads waited for one" in text
    assert "| shop.Till | shop.Page.show | http-\\* | 3 | 35 | 20 |" in text
    assert "about 2.0 MB/s, estimated from samples" in text
    assert "Garbage collections: 2, pauses 12 ms in all (0.60 % of the window), the longest 9.00 ms." in text
    assert profile_text(till, "run-01_1") == (
        "### till\n\nHottest methods: not known: only 0 samples of running threads; shares need 100.\n\n"
        "Locks: no thread waited 1 ms or longer for one.\n\nGarbage collections: none."
    )


def test_exceptions_safepoints_and_threads_are_cut_to_the_window_and_the_deeper_of_two_exceptions_comes_first():
    (shop,) = profiles(read_events(AGENT_EVENTS.splitlines()), 10_000, 11_999)
    assert (shop.recorder, shop.no_agent) == ("async-profiler, ctimer", "")
    assert shop.thrown_count == 9
    assert shop.thrown == (
        Thrown("java.lang.IndexOutOfBoundsException", "shop.Cart.sum", 4),
        Thrown("shop.PageError", "shop.Page.show", 4),
        Thrown("java.io.IOException", "shop.Page.show", 1),
    )
    assert shop.safepoints == Safepoints(3, 9.0, 6.0, "G1CollectForAllocation")
    assert shop.pools == (ThreadPool("http-*", 2.0, 0.25, 0.125, 0.375, 0.25, 0.5),)
    assert shop.waits == (Wait("shop.Page.show", "java.util.HashMap.get", 1.0),)


def test_a_recording_without_exceptions_and_safepoints_has_none_and_for_an_older_one_they_are_unknown():
    (idle,) = profiles(read_events(["P\tshop", "R\tJFR\tit refuses"]), 10_000, 12_000)
    assert idle.safepoints == Safepoints(0, 0.0, 0.0, "")
    text = profile_text(idle, "run-01_1")
    assert "Exceptions: none.\n\nGarbage collections: none.\n\nSafepoints: none." in text
    (old,) = profiles(read_events(["P\tshop"]), 10_000, 12_000)
    assert old.safepoints is None
    assert not any(word in profile_text(old, "run-01_1") for word in ("Exceptions", "Safepoints"))


def test_the_report_has_exceptions_safepoints_pools_and_waits():
    (shop,) = profiles(read_events(AGENT_EVENTS.splitlines()), 10_000, 12_000)
    text = profile_text(shop, "run-01_1")
    assert "Exceptions: 9 created, caught ones included, and" in text
    assert "| java.lang.IndexOutOfBoundsException | shop.Cart.sum | 4 |" in text
    assert (
        "Safepoints: 3, all threads stopped for 9.00 ms in all (0.45 % of the window, pauses of garbage collections "
        "included), the longest 6.00 ms (G1CollectForAllocation)." in text
    )
    assert "| shop.Page.show | java.util.HashMap.get |" in text


def test_a_process_that_is_no_jvm_is_not_profiled(tmp_path):
    with Profiler({"shop": os.getpid()}, tmp_path, {}) as profiler:
        pass
    profiler.write(tmp_path / "profile.tsv.gz")
    assert profiler.unknown == [("system", NO_JVM)]
    assert list(tmp_path.iterdir()) == []


@dataclass(frozen=True)
class Profiled:
    """The profile of the JVM with known hot spots, in its window, and what the profiler left and reported."""

    shop: ProcessProfile
    lines: list[str]
    files: list[str]
    no_agent: dict[str, str]
    unknown: list[tuple[str, str]]


@pytest.fixture(scope="module", params=["async-profiler", pytest.param("JFR", marks=pytest.mark.counterpart)])
def profiled(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("system")
    path = folder.with_name("profile.tsv.gz")
    ensure_flame_graphs()
    agent = agent_library() if request.param != "JFR" else None
    with subprocess.Popen(java_command("Hot", HOT, "-Xmx64m"), stdout=subprocess.PIPE) as jvm:
        try:
            assert jvm.stdout.readline() == b"ready\n"
            with Profiler({"shop": jvm.pid}, folder, {}, agent=agent) as profiler:
                begin_ms = time.time_ns() // 1_000_000
                time.sleep(5)  # events are sampled in real time
                end_ms = time.time_ns() // 1_000_000
        finally:
            jvm.kill()
    profiler.write(path)
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    (shop,) = profiles(read_events(lines), begin_ms, end_ms)
    return Profiled(shop, lines, sorted(file.name for file in folder.iterdir()), profiler.no_agent, profiler.unknown)


@pytest.mark.real
def test_the_hot_spots_of_a_real_jvm_are_named_first(profiled):
    shop = profiled.shop
    assert profiled.unknown == []
    assert shop.methods[0].method == "Hot.spin"
    assert shop.sample_period_ms == 10.0  # as in profile.jfc
    assert "T\tcpu\t10 ms" in profiled.lines
    lock = shop.locks[0]
    assert (lock.lock, lock.method, lock.holder) == ("Hot$Till", "Hot.pay", "payer-*")
    # Two of three threads wait at any time; all three while the next holder waits for a core.
    assert 1.0 < lock.total_ms / 1000 / shop.length_s < 3.0
    made = shop.allocations[0]
    assert (made.object_class, made.method) == ("byte[]", "Hot.fill")
    # 50 MB/s; a busy machine sleeps longer.
    assert 20e6 < made.bytes_estimated / shop.length_s < 100e6
    # The exception comes before the one that wraps it.
    names = [(one.exception, one.method) for one in shop.thrown[:2]]
    assert names == [
        ("java.lang.IndexOutOfBoundsException", "Hot.pick"),
        ("java.lang.IllegalStateException", "Hot.reject"),
    ]
    costs = {one.part: one for one in shop.costs}
    assert {"threads of recorders", "waits for a CPU", "events of JFR"} <= costs.keys()
    assert 0 < costs["events of JFR"].cpu_s < shop.length_s
    assert ("events of async-profiler" in costs) is not bool(profiled.no_agent)
    assert shop.safepoints.count > 0
    assert 0 < shop.safepoints.longest_ms <= shop.safepoints.total_ms < 1000 * shop.length_s


@pytest.mark.real
def test_the_profile_names_what_sampled_its_methods_and_threads(profiled):
    shop = profiled.shop
    if profiled.no_agent:
        assert profiled.files == ["delays-shop.tsv", "profile-shop.jfr"]
        assert (shop.recorder, shop.no_agent, shop.pools) == ("JFR", NO_AGENT, ())
        assert f"running Java threads, taken every 10 ms by JFR, because {NO_AGENT}." in profile_text(shop, "run-01_1")
        return
    assert profiled.files == ["delays-shop.tsv", "profile-shop.jfr", "samples-shop.jfr"]
    assert shop.recorder == "async-profiler, ctimer"
    # One thread of three runs, all of the time that the machine grants it.
    payers = next(pool for pool in shop.pools if pool.name == "payer-*")
    assert 2.5 < payers.thread_count < 3.5
    assert 0.2 < payers.lock_ratio < 0.75
    # One of the four clerks has no work.
    clerks = next(pool for pool in shop.pools if pool.name == "clerk-*")
    assert (3.5 < clerks.thread_count < 4.5, clerks.full_ratio) == (True, 0.0)
    assert clerks.waiting_ratio == pytest.approx(0.75, abs=0.05)
    assert clerks.idle_ratio == pytest.approx(0.25, abs=0.05)
    waits = {wait.method: wait for wait in shop.waits}
    assert waits["Hot.fetch"].waited_in == "java.lang.Thread.sleep"
    assert waits["Hot.fetch"].thread_count == pytest.approx(3, abs=0.3)


@pytest.fixture(scope="module")
def refused_and_dead(tmp_path_factory):
    """Two profiles of one JVM: in the first it refuses async-profiler, and in the second it dies; and their files."""
    paths = [tmp_path_factory.mktemp(name) / "profile.tsv.gz" for name in ("refused", "dead")]
    with subprocess.Popen(java_command("Hot", HOT, "-Xmx64m"), stdout=subprocess.PIPE) as jvm:
        try:
            assert jvm.stdout.readline() == b"ready\n"
            folder = paths[0].parent
            pids = {"shop": jvm.pid, "proxy": os.getpid()}
            with Profiler(pids, folder, {}, agent=folder / "no.so") as refused:
                time.sleep(1)  # events are sampled in real time
            with Profiler({"shop": jvm.pid}, paths[1].parent, {}) as dead:
                jvm.kill()
                wait_for(lambda: jvm.poll() is not None)
        finally:
            jvm.kill()
    for profiler, path in zip((refused, dead), paths, strict=True):
        profiler.write(path)
    return (refused, paths[0]), (dead, paths[1])


@pytest.mark.counterpart
def test_a_jvm_that_refuses_agents_is_profiled_by_jfr_and_the_reason_is_reported(refused_and_dead):
    (profiler, path), _ = refused_and_dead
    assert profiler.unknown == [("proxy", NOT_A_JVM)]
    with gzip.open(path, "rt") as lines:
        shop = read_events(lines)["shop"]
    assert shop.recorder == "JFR"
    assert shop.no_agent.startswith("the JVM did not load async-profiler (")
    assert shop.rows["cpu"]


@pytest.mark.real
def test_a_jvm_that_dies_during_the_load_is_named(refused_and_dead):
    _, (profiler, path) = refused_and_dead
    assert profiler.unknown == [("shop", "the JVM did not write profile-shop.jfr (jcmd ended with code 1)")]
    assert not path.exists()


def test_the_cost_of_each_part_is_a_share_of_the_cpu_time_and_older_files_have_none():
    costs = "M\tJFR\t50000\nK\tshop\t\t20.0\nK\tshop\tlength\t10.0\nK\tshop\tthreads of recorders\t0.3\n"
    text = f"P\tshop\nV\t5\t50.0\t0.02\t\n{costs}K\tshop\twaits for a CPU\t0.05"
    (shop,) = profiles(read_events(text.splitlines()), 0, 10_000)
    assert [(one.part, one.cpu_s, one.ratio) for one in shop.costs] == [
        ("threads of recorders", 0.3, 0.015),
        ("events of JFR", 0.2, 0.01),
        ("thread dumps", 0.2, 0.01),
        ("waits for a CPU", 0.05, 0.0025),
    ]
    said = "threads of recorders 1.5 %, events of JFR 1.0 %, thread dumps 1.0 %, waits for a CPU 0.2 %."
    assert f"Profiling took 3.8 % of its CPU time, or of one core if that is more: {said}" in profile_text(shop, "r")
    (older,) = profiles(read_events(["P\tshop"]), 0, 10_000)
    assert older.costs == ()


SLEEP = "public class Sleep { public static void main(String[] a) throws Exception { Thread.sleep(60_000); } }"


def unprofiled(folder, *options, java="java"):
    """Return why a JVM with these options has no profile."""
    with subprocess.Popen(java_command("Sleep", SLEEP, *options, java=java)) as jvm:
        try:
            with Profiler({"shop": jvm.pid}, folder, {}) as profiler:
                pass
        finally:
            jvm.kill()
    ((process, why),) = profiler.write(folder / "profile.tsv.gz")
    assert process == "shop"
    return why


@pytest.mark.counterpart
def test_a_jvm_without_jfr_is_named_with_what_it_says(tmp_path):
    java = tmp_path / "java"
    subprocess.run(["jlink", "--add-modules", "java.base", "--output", java], check=True, capture_output=True)
    said = "Module jdk.jfr not found. Flight Recorder can not be enabled."
    found = unprofiled(tmp_path, java=str(java / "bin" / "java"))
    assert found == f"the JVM refused to start a recording ({said})"


@pytest.mark.counterpart
def test_a_jvm_that_takes_no_commands_is_named_with_what_it_says(tmp_path):
    said = "com.sun.tools.attach.AttachNotSupportedException: The VM does not support the attach mechanism"
    found = unprofiled(tmp_path, "-XX:+DisableAttachMechanism")
    assert found == f"the JVM refused to start a recording ({said})"
