"""Profiles of JVMs: events cut to the window and summed up, and a real JVM whose hot spots are known."""

import gzip
import os
import subprocess
import time
from dataclasses import replace

import pytest

from harness.report.profiles import profile_text
from harness.system.profile import (
    Allocation,
    Collections,
    LockWait,
    MethodUse,
    ProcessProfile,
    profiles,
    read_events,
)
from harness.system.profile_files import NO_JVM, Profiler
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
HOT = """
public class Hot {
    static final class Till {}
    static final Till till = new Till();
    static volatile Object kept;
    public static void main(String[] arguments) throws Exception {
        for (int number = 0; number < 3; number++) {
            new Thread(Hot::pay, "payer-" + number).start();
        }
        new Thread(Hot::fill).start();
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
    static void fill() {
        try {
            while (true) {
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
        allocations=(Allocation("[B", "shop.Page.show", 4_194_304),),
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


def test_a_process_that_is_no_jvm_is_not_profiled(tmp_path):
    with Profiler({"shop": os.getpid()}, tmp_path, {}) as profiler:
        pass
    profiler.write(tmp_path / "profile.tsv.gz")
    assert profiler.unknown == [("system", NO_JVM)]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.real
def test_the_lock_and_the_allocation_of_a_real_jvm_are_named_first(tmp_path):
    source, folder = tmp_path / "Hot.java", tmp_path / "system"
    source.write_text(HOT)
    folder.mkdir()
    path = tmp_path / "profile.tsv.gz"
    with subprocess.Popen(["java", "-Xmx64m", str(source)], stdout=subprocess.PIPE) as jvm:
        try:
            assert jvm.stdout.readline() == b"ready\n"
            with Profiler({"shop": jvm.pid}, folder, {}) as profiler:
                begin_ms = time.time_ns() // 1_000_000
                time.sleep(4)  # events are sampled in real time
                end_ms = time.time_ns() // 1_000_000
        finally:
            jvm.kill()
    profiler.write(path)
    assert profiler.unknown == []
    assert [file.name for file in folder.iterdir()] == ["profile-shop.jfr"]
    with gzip.open(path, "rt") as lines:
        (shop,) = profiles(read_events(lines), begin_ms, end_ms)
    assert shop.methods[0].method == "Hot.spin"
    assert shop.sample_period_ms == 10.0  # as in profile.jfc
    with gzip.open(path, "rt") as lines:
        assert "T\tcpu\t10 ms\n" in lines
    lock = shop.locks[0]
    assert (lock.lock, lock.method, lock.holder) == ("Hot$Till", "Hot.pay", "payer-*")
    # Two of three threads wait at any time.
    assert 1.0 < lock.total_ms / 1000 / shop.length_s < 2.1
    made = shop.allocations[0]
    assert (made.object_class, made.method) == ("byte[]", "Hot.fill")
    # 50 MB/s; a busy machine sleeps longer.
    assert 20e6 < made.bytes_estimated / shop.length_s < 100e6


@pytest.mark.real
def test_a_jvm_that_dies_during_the_load_is_named(tmp_path):
    source = tmp_path / "Hot.java"
    source.write_text(HOT)
    with subprocess.Popen(["java", "-Xmx64m", str(source)], stdout=subprocess.PIPE) as jvm:
        assert jvm.stdout.readline() == b"ready\n"
        with Profiler({"shop": jvm.pid}, tmp_path, {}) as profiler:
            jvm.kill()
            wait_for(lambda: jvm.poll() is not None)
    profiler.write(tmp_path / "profile.tsv.gz")
    assert profiler.unknown == [("shop", "the JVM did not write profile-shop.jfr (jcmd ended with code 1)")]
    assert not (tmp_path / "profile.tsv.gz").exists()
