import java.io.IOException;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;

/**
 * Measures how late a thread of this JVM wakes up: so long a user waits, too, whose answer has arrived.
 *
 * A thread pauses for {@link #PERIOD_NS} again and again. What it oversleeps, it waited for a core, or for a pause of Java
 * (as jHiccup does). Each line of {@link #FILE} is a second since 1970, and the numbers of pauses by class of delay; the
 * first are those below {@link #FIRST_US}, each further class reaches to the double of the one two before it. A line "stall"
 * has the times, ms since 1970, between which a thread did not wake up.
 * harness/metrics/wake_delays.py reads them.
 */
final class WakeDelays {
    private static final String FILE = "wakes.txt";
    private static final long PERIOD_NS = 10_000_000L;
    /** A pause that ends earlier was interrupted. */
    private static final long LEAST_NS = -PERIOD_NS / 10;
    private static final long MS_PER_S = 1000;
    private static final double FIRST_US = 250;
    private static final double NS_PER_US = 1000;
    private static final long NS_PER_MS = 1_000_000;
    private static final int CLASSES_PER_DOUBLE = 2;
    private static final int SIZE = 32;
    private static final long STALL_MS = 20;
    private static final int STALLS_MOST = 20_000;

    private static final Ticker.Kept OUT = new Ticker.Kept(FILE);
    private static final TreeMap<Long, long[]> BY_SECOND = new TreeMap<>();
    private static final StringBuilder STALLS = new StringBuilder();
    private static int stalls;

    private WakeDelays() {}

    /** Begins to measure. */
    static void start() {
        Thread thread = new Thread(WakeDelays::measure, "measures wake-ups");
        thread.setDaemon(true);
        thread.start();
    }

    private static void measure() {
        while (true) {
            long beganNs = System.nanoTime();
            LockSupport.parkNanos(PERIOD_NS);
            long lateNs = System.nanoTime() - beganNs - PERIOD_NS;
            if (lateNs > LEAST_NS) {
                add(GroupCounts.nowMs(), lateNs);
            }
        }
    }

    private static int classOf(long lateNs) {
        double doubles = Math.log(Math.max(1, lateNs) / NS_PER_US / FIRST_US) / Math.log(2);
        return Math.max(0, Math.min(SIZE - 1, 1 + (int) Math.floor(doubles * CLASSES_PER_DOUBLE)));
    }

    private static synchronized void add(long nowMs, long lateNs) {
        BY_SECOND.computeIfAbsent(nowMs / MS_PER_S, unused -> new long[SIZE])[classOf(lateNs)]++;
        long lateMs = lateNs / NS_PER_MS;
        if (lateMs >= STALL_MS && stalls < STALLS_MOST) {
            stalls++;
            STALLS.append("stall ").append(nowMs - lateMs).append(' ').append(nowMs).append('\n');
        }
    }

    /** Writes the seconds that have ended. */
    static void write() throws IOException {
        write(GroupCounts.nowMs() / MS_PER_S);
    }

    /** Writes all when JMeter ends. */
    static void end() throws IOException {
        write(Long.MAX_VALUE);
    }

    private static synchronized void write(long untilS) throws IOException {
        StringBuilder text = new StringBuilder();
        BY_SECOND.headMap(untilS).forEach((second, counts) -> {
            text.append(second);
            for (long count : counts) {
                text.append(' ').append(count);
            }
            text.append('\n');
        });
        OUT.append(text.append(STALLS).toString());
        BY_SECOND.headMap(untilS).clear();
        STALLS.setLength(0);
    }
}
