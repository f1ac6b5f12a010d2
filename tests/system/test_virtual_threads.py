"""Virtual threads: the same waits as on platform threads, from thread dumps; and what a dump means."""

import gzip
import os
import subprocess
import time

import pytest

from harness.base.install.toolchain import ensure_profile_reader
from harness.report.profiles import profile_text
from harness.system.dumps_files import AT_ONCE_S, SHARE_MOST
from harness.system.profile import profiles
from harness.system.profile_events import VirtualThreads, read_events
from harness.system.profile_files import Profiler
from harness.system.thread_dumps import DumpedThreads
from tests.support.java_program import java_command, java_of, release_of

# Twenty users each of a lock, of a semaphore with one permit, of a latch and of a queue; ten of a pool of two
# connections, whose users wait 200 ms for the answer to a statement on a socket.
SHOP = """
import java.net.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.ReentrantLock;
import com.zaxxer.hikari.pool.Borrowing;
import org.mariadb.jdbc.Wire;
public class Shop {
    static final class Till {}
    static final Till till = new Till();
    static final ReentrantLock door = new ReentrantLock(true);
    static final Semaphore seats = new Semaphore(1, true);
    static final Borrowing connections = new Borrowing(2);
    interface Step { void run() throws Exception; }
    public static void main(String[] arguments) throws Exception {
        boolean isVirtual = arguments[0].equals("virtual");
        var server = new ServerSocket(0);
        new Thread(() -> loop(() -> answer(server.accept())), "database").start();
        for (int user = 0; user < 20; user++) {
            start(isVirtual, user, Shop::pay);
            start(isVirtual, user, Shop::enter);
            start(isVirtual, user, Shop::sit);
            start(isVirtual, user, Shop::hear);
            if (user < 10) start(isVirtual, user, () -> query(server.getLocalPort()));
        }
        System.out.println("ready");
    }
    static void start(boolean isVirtual, int user, Step step) throws Exception {
        Runnable task = () -> loop(step);
        if (isVirtual) {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            Class.forName("java.lang.Thread$Builder").getMethod("start", Runnable.class).invoke(builder, task);
        } else {
            new Thread(task, "user-" + user).start();
        }
    }
    static void loop(Step step) {
        try { while (true) step.run(); } catch (Exception error) { throw new IllegalStateException(error); }
    }
    // A monitor is not fair: without a pause its thread would take it again, and others would wait to the end. All
    // other waits are fair, as a wait that does not end in the profile is in no recording.
    static void pay() throws Exception { synchronized (till) { Thread.sleep(5); } Thread.sleep(1); }
    static void enter() throws Exception { door.lock(); try { Thread.sleep(5); } finally { door.unlock(); } }
    static void sit() throws Exception { seats.acquire(); try { Thread.sleep(5); } finally { seats.release(); } }
    static void hear() throws Exception { new CountDownLatch(1).await(200, TimeUnit.MILLISECONDS); }
    static void query(int port) throws Exception {
        connections.take();
        // A pool's own statement calls that of the driver.
        try { connections.execute(() -> { Wire.read(port); return null; }); } finally { connections.give(); }
    }
    static void answer(Socket socket) {
        new Thread(() -> {
            try (socket) { Thread.sleep(200); socket.getOutputStream().write(1); } catch (Exception error) { return; }
        }).start();
    }
}
"""
BORROWING = """
package com.zaxxer.hikari.pool;
import java.util.concurrent.Semaphore;
public class Borrowing {
    final Semaphore free;
    public Borrowing(int count) { free = new Semaphore(count, true); }
    public void take() throws InterruptedException { free.acquire(); }
    public void give() { free.release(); }
    public void execute(java.util.concurrent.Callable<?> statement) throws Exception { statement.call(); }
}
"""
WIRE = """
package org.mariadb.jdbc;
public class Wire {
    public static void read(int port) throws java.io.IOException {
        try (var socket = new java.net.Socket("127.0.0.1", port)) { socket.getInputStream().read(); }
    }
}
"""
OTHERS = (("com/zaxxer/hikari/pool/Borrowing.java", BORROWING), ("org/mariadb/jdbc/Wire.java", WIRE))
# Profiles are of whole seconds: of six seconds one more or less. A recorded wait counts when it has ended.
EDGES = 0.3
# As Java 21 writes dumps: no state, and no class of what a thread waits for. Java 25 has both.
DUMP_21 = """\
1
2026-11-29T13:00:00Z
21.0.5

#1 "main"
      java.base/java.lang.Thread.sleep0(Native Method)

#31 "" virtual
      java.base/java.lang.VirtualThread.park(VirtualThread.java:582)
      Shop.enter(Shop.java:40)

"""
DUMP_25 = """\
#31 "buyer 7" virtual BLOCKED 2026-11-29T13:00:00.1Z
    at Shop.pay(Shop.java:39)
    - waiting to lock <Shop$Till@245090f2>

"""


def test_a_thread_was_at_its_place_from_halfway_to_the_dump_before_to_halfway_to_the_dump_after():
    threads = DumpedThreads()
    lines = [line for at_us in (1_000, 2_000, 3_000) for line in threads.add(DUMP_21, at_us)]
    stack = "S\t0\tjava.base/java.lang.VirtualThread.park(VirtualThread.java:582);Shop.enter(Shop.java:40)\n"
    assert lines == ["A\t1000\n", stack, "A\t2000\n", "A\t3000\n"]
    assert list(threads.add(DUMP_25.replace("245090f2", "1"), 5_000)) == [
        "A\t5000\n",
        "S\t1\tShop.pay(Shop.java:39);- waiting to lock <Shop$Till@>\n",
        "T\t31\t\t\t0\t1000\t4000\n",
    ]
    assert list(threads.add(DUMP_25, 6_000)) == ["A\t6000\n"]
    assert list(threads.end()) == ["T\t31\tbuyer 7\tBLOCKED\t1\t4000\t6000\n"]
    assert (threads.most, threads.count) == (1, 5)


def test_waits_that_are_not_known_are_not_called_none():
    lines = ["P\tshop", "R\tasync-profiler, ctimer\t", "V\t40\t0\t0\tthe JVM does not answer (timed out)"]
    (shop,) = profiles(read_events(lines), 10_000, 12_000)
    assert shop.virtual == VirtualThreads(40, 0.0, 0.0, "the JVM does not answer (timed out)")
    text = profile_text(shop, "run-01_1")
    assert "up to 40 at a time. What they waited for is not known: the JVM does not answer (timed out)." in text
    assert "Locks: not known for virtual threads; no other thread waited 1 ms or longer for one." in text
    (other,) = profiles(read_events([*lines[:2], "V\t0\t2000.0\t0.0010\t"]), 10_000, 12_000)
    assert other.virtual is None
    assert "Locks: no thread waited 1 ms or longer for one." in profile_text(other, "run-01_1")


READ = """
public class ReadThreads {
    public static void main(String[] arguments) throws Exception {
        var out = new java.io.PrintWriter(System.out);
        var sums = new Sums(out);
        out.println("V\\t" + new VirtualThreads(sums, new ThreadTimes(out)).read(arguments[0]));
        sums.print();
        out.flush();
    }
}
"""
# What threads are in, as Java 21 dumps it, and the kind and the class of their waits.
PARKED = (
    "java.base/java.lang.VirtualThread.park(V.java:1);java.base/java.util.concurrent.locks.LockSupport.park(L.java:1);"
)
QUEUED = "java.base/java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire(A.java:1);"
WAITS_21 = [
    (f"{QUEUED}java.base/java.util.concurrent.locks.ReentrantLock.lock(R.java:1)", "lock", "locks.ReentrantLock"),
    (f"{QUEUED}java.base/java.util.concurrent.Semaphore.acquire(S.java:1)", "latch", "Semaphore"),
    ("java.base/java.util.concurrent.CompletableFuture.get(C.java:1)", "latch", "CompletableFuture"),
    ("", "other", ""),
]


@pytest.mark.real
def test_of_a_dump_without_what_threads_wait_for_the_class_is_that_which_the_program_called(tmp_path):
    path, lines = tmp_path / "threads.tsv", ["A\t1000000"]
    for number, (stack, _, _) in enumerate(WAITS_21):
        lines += [f"S\t{number}\t{PARKED}{stack};Shop.w{number}(Shop.java:1)".replace(";;", ";")]
        lines += [f"T\t{number + 30}\t\t\t{number}\t1000000\t1900000"]
    path.write_text("\n".join([*lines, "V\t4\t50.0\t0.0\t", ""]))
    command = java_command("ReadThreads", READ, jars=str(ensure_profile_reader()))
    printed = subprocess.run([*command, path], check=True, capture_output=True, text=True).stdout
    (shop,) = profiles(read_events(["P\tshop", *printed.splitlines()]), 0, 10_000)
    found = {wait.method: (wait.kind, wait.blocker) for wait in shop.other_waits}
    found |= {lock.method: ("lock", lock.lock) for lock in shop.locks}
    package = "java.util.concurrent."
    assert found == {
        f"Shop.w{number}": (kind, f"{package}{name}" if name else "") for number, (_, kind, name) in enumerate(WAITS_21)
    }


@pytest.fixture(scope="module", params=["platform", "virtual"])
def shop(request, tmp_path_factory):
    """The profile of the same waits on platform and on virtual threads."""
    java = java_of(21)
    if java is None and request.param == "virtual":
        pytest.skip("no Java with virtual threads is installed")
    folder = tmp_path_factory.mktemp("system")
    command = java_command("Shop", SHOP, "-Xmx64m", java=java or "java", others=OTHERS)
    with subprocess.Popen([*command, request.param], stdout=subprocess.PIPE) as jvm:
        try:
            assert jvm.stdout.readline() == b"ready\n"
            with Profiler({"shop": jvm.pid}, folder, {}) as profiler:
                begin_ms = time.time_ns() // 1_000_000
                time.sleep(6)  # threads are sampled in real time
                end_ms = time.time_ns() // 1_000_000
        finally:
            jvm.kill()
    path = folder.with_name("profile.tsv.gz")
    profiler.write(path)
    assert profiler.unknown == []
    (found,) = profiles(read_events(gzip.decompress(path.read_bytes()).decode().splitlines()), begin_ms, end_ms)
    assert (found.virtual is not None) is (request.param == "virtual")
    if found.virtual:
        assert 90 <= found.virtual.most_count < 100  # the JDK has some, too
        # A dump too many is known when it was taken.
        assert 0 < found.virtual.cost_ratio * found.length_s < AT_ONCE_S + SHARE_MOST * found.length_s + 0.1
    return found


@pytest.mark.counterpart
@pytest.mark.real
def test_the_same_lock_is_named_on_platform_and_on_virtual_threads(shop):
    locks = {lock.method: lock for lock in shop.locks}
    assert (locks["Shop.pay"].lock, locks["Shop.enter"].lock.partition("$")[0]) == (
        "Shop$Till",
        "java.util.concurrent.locks.ReentrantLock",
    )
    assert set(locks) == {"Shop.pay", "Shop.enter"}
    # Nineteen of twenty users wait at any time. Before Java 24 a virtual thread that waits for a monitor, or sleeps in
    # one, keeps its carrier: as many wait as there are other carriers, and the other users wait for a carrier.
    is_pinned = shop.virtual is not None and release_of(java_of(21)) < 24
    for method, count in (("Shop.pay", os.cpu_count() - 1 if is_pinned else 19), ("Shop.enter", 19)):
        assert locks[method].total_ms / 1000 / shop.length_s == pytest.approx(count, rel=EDGES)


@pytest.mark.counterpart
@pytest.mark.real
def test_semaphores_latches_pools_and_statements_are_no_locks(shop):
    waits = {(wait.kind, wait.method): wait.total_ms / 1000 / shop.length_s for wait in shop.other_waits}
    assert waits["latch", "Shop.sit"] == pytest.approx(19, rel=EDGES)
    assert waits["latch", "Shop.hear"] == pytest.approx(20, rel=EDGES)
    assert waits["pool", "Shop.query"] == pytest.approx(8, rel=EDGES)
    statements = {method: count for (kind, method), count in waits.items() if kind == "statement"}
    assert [method.partition("$")[0] for method in statements] == ["Shop.lambda"]
    # Two connections are in use at any time; opening one is a wait, too, which dumps have and recordings have not.
    assert 2 * (1 - EDGES) < sum(statements.values()) < 2 * (1 + 2 * EDGES)
    assert not {kind for kind, _ in waits} & {"condition", "lock"}
