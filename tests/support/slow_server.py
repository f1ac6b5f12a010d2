"""An HTTP server in Java whose requests are made slow in known ways, a client, and the account of its tail."""

from __future__ import annotations

import gzip
import http.client
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.base.install.toolchain import ensure_flame_graphs
from harness.judge.tail import TailAccount, TailCause, tail_accounts
from harness.judge.tail_matching import Matching
from harness.judge.tail_pools import TailRequest
from harness.system.agent import agent_library
from harness.system.profile_files import Profiler
from harness.system.thread_times import read_thread_times
from tests.support.java_program import java_command

# A path such as /lock.300/statement.200 waits 300 ms for a lock, and then 200 ms for a statement.
SLOW = """
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.pool.Borrowing;
import java.net.*;
import java.util.concurrent.*;
import org.mariadb.jdbc.Wire;
public class Slow {
    static final class Till {}
    static final Till till = new Till();
    static final Borrowing connections = new Borrowing(2);
    static ServerSocket database;
    static int downstream;
    static Object live;
    static volatile long sum;
    interface Step { void run() throws Exception; }
    public static void main(String[] arguments) throws Exception {
        begin(Integer.parseInt(arguments[1]));
        ExecutorService executor = arguments[0].equals("virtual")
            ? (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null)
            : Executors.newFixedThreadPool(16, named("http-"));
        System.out.println(serve(executor, Slow::handle));
    }
    static void begin(int liveObjects) throws Exception {
        live = fill(liveObjects);
        database = new ServerSocket(0);
        new Thread(Slow::answer, "database").start();
        downstream = serve(Executors.newFixedThreadPool(4, named("down-")), Slow::slow);
        // A thread that has work of its own, and waits for locks at any time, serves no request.
        var timer = Executors.newSingleThreadScheduledExecutor(named("timer-"));
        timer.scheduleAtFixedRate(() -> quietly(() -> { lock(200); }), 0, 600, TimeUnit.MILLISECONDS);
    }
    static ThreadFactory named(String name) {
        var made = new java.util.concurrent.atomic.AtomicInteger();
        return task -> new Thread(task, name + made.incrementAndGet());
    }
    static Object fill(int count) {
        Object[] first = null;
        for (int number = 0; number < count; number++) first = new Object[] {first, new byte[16]};
        return first;
    }
    interface Handler { void handle(HttpExchange exchange) throws Exception; }
    static int serve(Executor executor, Handler handler) throws Exception {
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", exchange -> {
            quietly(() -> handler.handle(exchange));
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        server.setExecutor(executor);
        server.start();
        return server.getAddress().getPort();
    }
    static void slow(HttpExchange exchange) throws Exception {
        Thread.sleep(Long.parseLong(exchange.getRequestURI().getPath().substring(1)));
    }
    static void handle(HttpExchange exchange) throws Exception {
        take(exchange.getRequestURI().getPath());
    }
    static void take(String path) throws Exception {
        for (String step : path.substring(1).split("/")) {
            String[] parts = step.split("\\\\.");
            long ms = parts.length > 1 ? Long.parseLong(parts[1]) : 0;
            switch (parts[0]) {
                case "lock" -> lock(ms);
                case "pool" -> pool(ms);
                case "statement" -> statement(ms);
                case "service" -> service(ms);
                case "gc" -> collect();
                case "work" -> work(ms);
                case "use" -> use(ms);
                case "hidden" -> hidden(ms);
                default -> { }
            }
        }
    }
    static void lock(long ms) throws Exception {
        Object held = ms > 250 ? till : new Object();
        meanwhile(() -> { synchronized (held) { begun.get().countDown(); Thread.sleep(ms); } });
        synchronized (held) { sum++; }
    }
    static void pool(long ms) throws Exception {
        meanwhile(() -> {
            connections.take(); connections.take();
            begun.get().countDown();
            Thread.sleep(ms);
            connections.give(); connections.give();
        });
        connections.take();
        connections.give();
    }
    static void statement(long ms) throws Exception { Wire.read(database.getLocalPort(), (int) (ms / 10)); }
    static void service(long ms) throws Exception {
        var connection = (HttpURLConnection) new URL("http://127.0.0.1:" + downstream + "/" + ms).openConnection();
        connection.getResponseCode();
    }
    static void collect() throws Exception {
        meanwhile(() -> { begun.get().countDown(); System.gc(); });
        Thread.sleep(2);
    }
    static void work(long ms) {
        long until = System.nanoTime() + ms * 1_000_000;
        while (System.nanoTime() < until) sum += spin();
    }
    /** Uses so much CPU time, however long that takes. */
    static void use(long ms) {
        var cpu = java.lang.management.ManagementFactory.getThreadMXBean();
        long until = cpu.getCurrentThreadCpuTime() + ms * 1_000_000;
        while (cpu.getCurrentThreadCpuTime() < until) sum += spin();
    }
    static long spin() {
        long found = 0;
        for (int round = 0; round < 20_000; round++) found += round * found + 7;
        return found;
    }
    /** Waits in native code, which no recorder sees. */
    static void hidden(long ms) throws Exception {
        new ProcessBuilder("sleep", String.valueOf(ms / 1000.0)).start().getInputStream().read();
    }
    static final ThreadLocal<CountDownLatch> begun = new ThreadLocal<>();
    /** Runs a step in a thread of its own; returns when it counted down its latch. */
    static void meanwhile(Step step) throws Exception {
        var latch = new CountDownLatch(1);
        new Thread(() -> { begun.set(latch); quietly(step); }, "holder").start();
        while (latch.getCount() > 0) Thread.onSpinWait();
    }
    static void quietly(Step step) {
        try { step.run(); } catch (Exception error) { throw new IllegalStateException(error); }
    }
    static void answer() {
        while (true) quietly(() -> {
            var socket = database.accept();
            new Thread(() -> quietly(() -> {
                try (socket) { Thread.sleep(10L * socket.getInputStream().read()); socket.getOutputStream().write(1); }
            })).start();
        });
    }
}
"""
# Answers come from a timer, so that no thread serves a request; other threads wait for a lock most of the time.
LATER = """
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.*;
public class Later {
    public static void main(String[] arguments) throws Exception {
        var timer = Executors.newScheduledThreadPool(2, Slow.named("timer-"));
        var others = Executors.newScheduledThreadPool(6, Slow.named("work-"));
        Runnable work = () -> Slow.quietly(() -> { synchronized (Slow.till) { Thread.sleep(45); } });
        for (int at = 0; at < 6; at++) others.scheduleWithFixedDelay(work, at * 37, 60, TimeUnit.MILLISECONDS);
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", exchange -> {
            int ms = exchange.getRequestURI().getPath().length() > 1 ? 300 : 5;
            Runnable answer = () -> Slow.quietly(() -> { exchange.sendResponseHeaders(200, -1); exchange.close(); });
            timer.schedule(answer, ms, TimeUnit.MILLISECONDS);
        });
        server.setExecutor(Executors.newFixedThreadPool(8, Slow.named("http-")));
        server.start();
        System.out.println(server.getAddress().getPort());
    }
}
"""
TOMCAT = """
import jakarta.servlet.http.*;
import java.util.concurrent.TimeUnit;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
public class SlowTomcat {
    public static void main(String[] arguments) throws Exception {
        Slow.begin(0);
        var tomcat = new Tomcat();
        tomcat.setBaseDir(arguments[2]);
        var connector = new Connector();
        connector.setPort(0);
        connector.setProperty("address", "127.0.0.1");
        connector.setProperty("useVirtualThreads", String.valueOf(arguments[0].equals("virtual")));
        connector.setProperty("maxKeepAliveRequests", "-1");
        tomcat.setConnector(connector);
        var context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "slow", new HttpServlet() {
            @Override protected void doGet(HttpServletRequest request, HttpServletResponse response) {
                Slow.quietly(() -> Slow.take(request.getRequestURI()));
            }
        });
        context.addServletMappingDecoded("/*", "slow");
        tomcat.start();
        System.out.println(connector.getLocalPort());
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
}
"""
WIRE = """
package org.mariadb.jdbc;
public class Wire {
    public static void read(int port, int sent) throws java.io.IOException {
        try (var socket = new java.net.Socket("127.0.0.1", port)) {
            socket.getOutputStream().write(sent);
            socket.getInputStream().read();
        }
    }
}
"""
OTHERS = (("com/zaxxer/hikari/pool/Borrowing.java", BORROWING), ("org/mariadb/jdbc/Wire.java", WIRE))
USERS, PAUSE_S, SLOW_EACH = 5, 0.04, 2


# What began or ended at the edges of the recording is not known in full.
EDGE_MS = 500


# The environment variable with the table to which each account is appended: case, difference, cause, ms, from, to.
RESULTS = "HARNESS_SLOW_SERVER_RESULTS"


class Load(NamedTuple):
    """The threads of a server (platform, or virtual of a Java that has them), and its live objects for collections.

    With `tomcat`, its jars, the server is Tomcat, else the JDK's own; with `is_later` it answers from a timer. During
    the load it may use `quota` of a core.
    """

    threads: str = "platform"
    java: str = "java"
    live_objects: int = 0
    length_s: float = 10.0
    tomcat: str = ""
    quota: float | None = None
    is_later: bool = False


def tail_of(path: str, folder: Path, load: Load) -> TailAccount | None:
    """Return the account of the tail of a load of which one user in five sends every second request to `path`.

    None without a difference between p50 and p99.
    """
    options = ("-Xmx700m", "-XX:+UseSerialGC")
    name, source, others = "Slow", SLOW, OTHERS
    if load.tomcat:
        name, source, others = "SlowTomcat", TOMCAT, (*OTHERS, ("Slow.java", SLOW))
    if load.is_later:
        name, source, others = "Later", LATER, (*OTHERS, ("Slow.java", SLOW))
    command = java_command(name, source, *options, java=load.java, others=others, jars=load.tomcat)
    arguments = (load.threads, str(load.live_objects), str(folder))
    with subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as jvm:
        try:
            assert jvm.stdout
            port = int(jvm.stdout.readline())
            _requests(port, "/", 2.0)  # the JVM compiles
            ensure_flame_graphs()
            recording = Profiler({"shop": jvm.pid}, folder, {}, agent=agent_library())
            with recording as profiler, _quota(jvm.pid, load.quota):
                from_ms = time.time_ns() // 1_000_000
                requests = _requests(port, path, load.length_s)
                to_ms = time.time_ns() // 1_000_000
        finally:
            jvm.kill()
    profile = folder / "profile.tsv.gz"
    assert profiler.write(profile) == ()
    with gzip.open(profile, "rt", encoding="utf-8") as lines:
        times = read_thread_times(lines)
    inside = [one for one in requests if from_ms + EDGE_MS < one.from_ms and one.to_ms < to_ms - EDGE_MS]
    found = tail_accounts(Matching(requests, times), {"home": inside}, from_ms)
    if results := os.environ.get(RESULTS):
        append_accounts(Path(results), f"{name} {load.threads} {path}", found)
    return found[0] if found else None


def append_accounts(results: Path, case: str, found: Sequence[TailAccount]) -> None:
    """Append a line for each cause to a table, so that repeated runs of the tests can be summed up."""
    with results.open("a", encoding="utf-8") as file:
        for account in found:
            rest = TailCause("unexplained", "", account.unexplained_ms, account.unexplained_ms, account.unexplained_ms)
            for cause in (*account.causes, rest):
                parts = (case, account.excess_ms, f"{cause.kind} {cause.name}", cause.ms, cause.low_ms, cause.high_ms)
                print(*parts, sep="\t", file=file)


@contextmanager
def _quota(pid: int, cores: float | None) -> Iterator[None]:
    """Limit a process by a cgroup of its own; the test is skipped where this user may not make one."""
    if cores is None:
        yield
        return
    root, period_us = Path("/sys/fs/cgroup"), 100_000
    first = root / "cpu" if (root / "cpu").is_dir() else root
    group = first / f"slow-server-{pid}"
    quota = f"{cores * period_us:.0f}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"NOT CHECKED: no cgroup can be made ({error.strerror})")
    try:
        if first is root:
            (group / "cpu.max").write_text(f"{quota} {period_us}")
        else:
            (group / "cpu.cfs_quota_us").write_text(quota)
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        (first / "cgroup.procs").write_text(str(pid))
        group.rmdir()


def tomcat_jars(version: str) -> str:
    """Return the class path of an embedded Tomcat from Maven Central."""
    repository = Path.home() / ".m2" / "repository" / "org" / "apache" / "tomcat"
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get"
    artifact = f"org.apache.tomcat.embed:tomcat-embed-core:{version}"
    subprocess.run(["mvn", "-q", plugin, f"-Dartifact={artifact}"], check=True, capture_output=True, timeout=120)
    return os.pathsep.join(str(path) for path in sorted(repository.glob(f"**/{version}/*-{version}.jar")))


def _requests(port: int, path: str, length_s: float) -> list[TailRequest]:
    """Send requests for a while; return them in order of their starts."""
    requests: list[TailRequest] = []
    until = time.monotonic() + length_s

    def use(user: int) -> None:
        connection, count = http.client.HTTPConnection("127.0.0.1", port), 0
        while time.monotonic() < until:
            count += 1
            wanted = path if user == 0 and count % SLOW_EACH == 0 else "/"
            from_ms = time.time_ns() // 1_000_000
            connection.request("GET", wanted)
            connection.getresponse().read()
            requests.append(TailRequest(from_ms, time.time_ns() // 1_000_000))
            time.sleep(PAUSE_S)

    threads = [threading.Thread(target=use, args=(user,)) for user in range(USERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(requests)
