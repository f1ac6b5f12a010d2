package harness.sampler;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * The thread that ends overdue reads of all {@link TimedSocket}s. It runs while there are any.
 *
 * It sleeps until the earliest read that waits is overdue. A read that begins later takes at least the shortest limit, so a
 * test without overdue reads costs one look per that limit.
 */
final class Watchdog {
    private static final long START_NS = System.nanoTime() - 1;
    private static final long LEAST_PAUSE_NS = 1_000_000;
    /** With many sockets it takes at most a tenth of a core. */
    private static final int PAUSE_PER_LOOK = 10;
    private static final Set<TimedSocket> SOCKETS = ConcurrentHashMap.newKeySet();

    private static volatile long leastLimitNs = Long.MAX_VALUE / 2;
    private static volatile Thread thread;

    private Watchdog() {}

    /** Returns the time in ns since this class was loaded, at least 1. */
    static long nowNs() {
        return System.nanoTime() - START_NS;
    }

    /** Returns whether reads with this limit need {@link #add}, because no look would come in time. */
    static boolean isTooSlowFor(long limitNs) {
        return limitNs < leastLimitNs || thread == null;
    }

    /** Watches the reads of a socket, which have at least this limit. */
    static synchronized void add(TimedSocket socket, long limitNs) {
        SOCKETS.add(socket);
        boolean isShorter = limitNs < leastLimitNs;
        leastLimitNs = Math.min(leastLimitNs, limitNs);
        if (thread == null) {
            thread = new Thread(Watchdog::watch, "read-timeouts");
            thread.setDaemon(true);
            thread.start();
        } else if (isShorter) {
            LockSupport.unpark(thread);
        }
    }

    static void remove(TimedSocket socket) {
        SOCKETS.remove(socket);
    }

    private static synchronized boolean isNeeded() {
        if (SOCKETS.isEmpty()) {
            thread = null;
        }
        return thread != null;
    }

    private static void watch() {
        try {
            while (isNeeded()) {
                look();
            }
        } catch (RuntimeException | Error error) { // such as a full heap: the next request starts another thread
            synchronized (Watchdog.class) {
                thread = null;
            }
            throw error;
        }
    }

    private static void look() {
        long startNs = nowNs();
        long nextNs = startNs + leastLimitNs;
        for (TimedSocket socket : SOCKETS) {
            nextNs = Math.min(nextNs, socket.endOverdue(startNs));
        }
        long endNs = nowNs();
        long leastNs = Math.max(LEAST_PAUSE_NS, PAUSE_PER_LOOK * (endNs - startNs));
        LockSupport.parkNanos(Math.max(nextNs - endNs, leastNs));
    }
}
