import java.util.List;
import java.util.Set;

/**
 * A wait of a thread: its kind, the class that it waits for ("" if not known), the thread that has it ("" if not known), its
 * own pool, and its methods, the innermost first.
 *
 * <p>The kind follows from the stack: a lock, a latch or semaphore, a condition, a connection of a pool, a statement, …
 */
record Waits(String kind, String blocker, String holder, String pool, List<String> methods) {
    /** Kinds of waits. IDLE is a thread without work. */
    static final String LOCK = "lock", LATCH = "latch", CONDITION = "condition", POOL = "pool", STATEMENT = "statement",
            SERVICE = "service", SLEEP = "sleep", IO = "io", OTHER = "other", IDLE = "idle";
    /** What a thread without work is in: pools of the JDK, Tomcat and Grizzly, Jetty, selectors, Netty, servers. */
    private static final Set<String> WITHOUT_WORK = Set.of(
            "getTask", "takeTask", "awaitWork", "idleJobPoll", "reservedWait", "doSelect", "epollWait", "epollWait0", "epollWait1",
            "kevent", "accept", "accept0");
    /** What the main thread of a server is in until it is stopped: Tomcat, Jetty. */
    private static final Set<String> UNTIL_STOPPED = Set.of(
            "org.apache.catalina.core.StandardServer.await", "org.eclipse.jetty.util.thread.QueuedThreadPool.join");
    /** Pools whose threads wait for work in methods of their own. */
    private static final String[] EXECUTORS = {"org.jboss.threads.", "org.eclipse.jetty.util.thread.", "io.netty.", "org.xnio.",
        "org.h2.mvstore.MVStore$BackgroundWriterThread."};
    private static final String[] OF_JAVA = {"java.", "javax.", "jdk.", "sun.", "com.sun."};
    private static final String[] POOLS = {
        "com.zaxxer.hikari.", "org.apache.tomcat.jdbc.pool.", "org.apache.commons.pool2.", "org.apache.commons.dbcp2.",
        "org.apache.tomcat.dbcp.", "com.mchange.v2.", "io.agroal.pool.", "oracle.ucp.", "com.alibaba.druid.pool.",
        "org.apache.http.pool.", "org.apache.http.impl.conn.", "org.apache.hc.core5.pool.", "org.vibur."};
    private static final String[] DRIVERS = {
        "org.mariadb.jdbc.", "com.mysql.", "org.postgresql.", "oracle.jdbc.", "oracle.net.", "com.microsoft.sqlserver.",
        "com.ibm.db2.", "org.h2.", "org.hsqldb.", "org.apache.derby.", "com.mongodb.", "redis.clients.", "io.lettuce.",
        "com.datastax.", "org.sqlite."};
    private static final String[] CLIENTS = {
        "jdk.internal.net.http.", "sun.net.www.protocol.http", "java.net.HttpURLConnection.", "okhttp3.", "org.apache.http.",
        "org.apache.hc.", "reactor.netty.http.client.", "io.grpc.stub.ClientCalls", "io.grpc.internal.ClientCallImpl", "feign."};
    private static final String[] LOCKS = {
        "java.util.concurrent.locks.ReentrantLock", "java.util.concurrent.locks.ReentrantReadWriteLock",
        "java.util.concurrent.locks.StampedLock"};
    private static final String SYNCHRONIZER = "java.util.concurrent.locks.AbstractQueued";
    /** What blocks on behalf of its caller. */
    private static final String[] BLOCKERS = {
        "java.util.concurrent.locks.", "java.util.concurrent.ForkJoinPool.managedBlock",
        "java.util.concurrent.ForkJoinPool.unmanagedBlock", "java.util.concurrent.ForkJoinPool.compensatedBlock"};
    private static final String[] SOCKETS = {"sun.nio.ch.", "java.net.Socket", "java.net.PlainSocketImpl."};

    /** Adds the wait to the sums of a second. */
    void addTo(Sums sums, long second, long count, long ns, long longestNs) {
        if (kind.equals(LOCK)) {
            sums.add("lock", second, sums.stack(methods), blocker, holder, count, ns, longestNs);
            sums.add("blocked", second, Sums.NO_STACK, pool, "", count, ns, longestNs);
        } else if (!kind.equals(IDLE)) {
            sums.add("await", second, sums.stack(List.of(place(methods))), blocker, kind, count, ns, longestNs);
        }
    }

    /** Returns what is waited for, and where. */
    String name() {
        boolean isOfClass = kind.equals(LOCK) || kind.equals(LATCH) || kind.equals(CONDITION);
        String place = place(methods);
        return isOfClass && !blocker.isEmpty() ? blocker + " at " + place : place;
    }

    /**
     * Returns the kind of a wait; methods has the innermost method first, blocker is the class waited for or "", and known is
     * how the thread waits if that is known: LOCK for a monitor, SLEEP, IO; else "".
     */
    static String kind(List<String> methods, String blocker, String known) {
        if (known.equals(LOCK)) {
            return any(methods, "org.eclipse.jetty.server.AbstractConnector$Acceptor.") ? IDLE : LOCK;
        }
        if (isIdle(methods)) {
            return IDLE;
        }
        String way = known.isEmpty() ? way(methods, blocker) : known;
        String kind = way.equals(SLEEP) ? "" : ofLibrary(methods);
        // A lock in a driver or a client is a lock; waiting for a connection may be one for the lock of the pool.
        return kind.isEmpty() || way.equals(LOCK) && !kind.equals(POOL) ? way : kind;
    }

    /** Returns what the innermost library of a stack is for: a pool's own statements call those of a driver. */
    private static String ofLibrary(List<String> methods) {
        for (String method : methods) {
            if (startsWith(method, POOLS)) {
                return POOL;
            }
            if (startsWith(method, DRIVERS)) {
                return STATEMENT;
            }
            if (startsWith(method, CLIENTS)) {
                return SERVICE;
            }
        }
        return "";
    }

    /** Returns how a thread waits, whoever calls. */
    private static String way(List<String> methods, String blocker) {
        if (startsWith(blocker, LOCKS)) {
            return LOCK;
        }
        boolean acquires = false;
        for (String method : methods) {
            String name = method.substring(method.lastIndexOf('.') + 1);
            if (method.equals("java.lang.Thread.sleep")) {
                return SLEEP;
            }
            if (startsWith(method, SOCKETS)) {
                return IO;
            }
            if (method.equals("java.lang.Object.wait") || method.contains("$ConditionObject.await")) {
                return acquires ? LOCK : CONDITION; // a thread that was signalled needs the lock again
            }
            if (startsWith(method, LOCKS)) {
                return LOCK;
            }
            if (method.startsWith(SYNCHRONIZER)) {
                if (name.startsWith("acquireShared") || name.startsWith("doAcquireShared") || name.startsWith("tryAcquireShared")) {
                    return LATCH;
                }
                acquires |= name.startsWith("acquire") || name.startsWith("tryAcquireNanos");
            } else if (isOwn(method)) {
                // A synchronizer of the program's own that is acquired by one thread at a time is a lock.
                return acquires ? LOCK : OTHER;
            } else if (method.startsWith("java.util.concurrent.") && !startsWith(method, BLOCKERS)) {
                return LATCH; // a future, a queue or the like: another thread answers
            }
        }
        return OTHER;
    }

    /** Whether a thread that waits has nothing to do. */
    static boolean isIdle(List<String> methods) {
        return methods.stream().filter(Waits::isOwn).allMatch(method -> startsWith(method, EXECUTORS))
                || methods.stream().anyMatch(Waits::isWithoutWork)
                || any(methods, "org.eclipse.jetty.server.AbstractConnector$Acceptor.");
    }

    private static boolean isWithoutWork(String method) {
        return UNTIL_STOPPED.contains(method) || WITHOUT_WORK.contains(method.substring(method.lastIndexOf('.') + 1));
    }

    static boolean isOwn(String method) {
        return !startsWith(method, OF_JAVA);
    }

    /** Returns the innermost method outside of Java, drivers, pools and clients, else the innermost one outside of Java. */
    static String place(List<String> methods) {
        String own = "";
        for (String method : methods) {
            if (isOwn(method)) {
                own = own.isEmpty() ? method : own;
                if (!startsWith(method, DRIVERS) && !startsWith(method, POOLS) && !startsWith(method, CLIENTS)) {
                    return method;
                }
            }
        }
        return own;
    }

    private static boolean any(List<String> methods, String... beginnings) {
        return methods.stream().anyMatch(method -> startsWith(method, beginnings));
    }

    private static boolean startsWith(String text, String... beginnings) {
        for (String beginning : beginnings) {
            if (text.startsWith(beginning)) {
                return true;
            }
        }
        return false;
    }
}
