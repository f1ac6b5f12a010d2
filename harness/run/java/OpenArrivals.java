import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.PrimitiveIterator;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Leaves out arrivals of Open Model Thread Groups while {@code -Dharness.users_most} users are active, or their memory is full.
 *
 * JMeter starts a thread with a clone of the plan for every arrival, without bound (apache/jmeter#6727): a system that stalls
 * would take all memory. The agent patches the generator of arrival times, so that JMeter does not see an arrival that is left
 * out; later ones keep their times. Their number is in {@link #FILE}, beside the list of connections.
 */
public final class OpenArrivals {
    static final String FILE = "left-out-arrivals.txt";
    private static final String TIMES = "org/apache/jmeter/threads/openmodel/ThreadScheduleProcessGenerator";
    private static final int MOST = Integer.getInteger("harness.users_most", 0);
    /** The part of the old generation that may still be in use after it was collected. */
    private static final double FULL = 0.8;
    private static final long COLLECT_NS = 5_000_000_000L;
    private static final AtomicLong COUNT = new AtomicLong();
    private static final ThreadLocal<Boolean> LEAVING_OUT = ThreadLocal.withInitial(() -> false);
    private static final MemoryPoolMXBean OLD = ManagementFactory.getMemoryPoolMXBeans().stream()
            .filter(pool -> pool.getType() == MemoryType.HEAP && pool.isCollectionUsageThresholdSupported())
            .filter(pool -> pool.getName().contains("Old") || pool.getName().contains("Tenured"))
            .findFirst()
            .orElse(null);
    private static Method users;
    private static volatile long collectedNs = System.nanoTime();

    private OpenArrivals() {}

    /** Patches JMeter's arrival times when they are loaded; without the option nothing. */
    static void install(Instrumentation instrumentation) {
        if (MOST > 0) {
            MethodPatch patch =
                    new MethodPatch("hasNext", MethodPatch.THIS, false, "OpenArrivals", "see", "Ljava/lang/Object;");
            patch.install(instrumentation, TIMES, "the users of an open load have no limit: its arrivals cannot be patched");
        }
    }

    /** Called by the patched method before it asks for the next arrival: leaves out arrivals until there is room for a user. */
    public static void see(Object times) {
        if (LEAVING_OUT.get() || !isFull(times)) {
            return;
        }
        LEAVING_OUT.set(true);
        try {
            leaveOut((PrimitiveIterator.OfDouble) times);
        } catch (InterruptedException error) { // the load ends
            Thread.currentThread().interrupt();
        } finally {
            LEAVING_OUT.set(false);
            write();
        }
    }

    private static void leaveOut(PrimitiveIterator.OfDouble times) throws InterruptedException {
        long beganNs = System.nanoTime();
        double firstS = Double.NaN;
        while (times.hasNext() && isFull(times)) {
            double timeS = times.nextDouble();
            firstS = Double.isNaN(firstS) ? timeS : firstS;
            if (COUNT.incrementAndGet() == 1) {
                Runtime.getRuntime().addShutdownHook(new Thread(OpenArrivals::write));
                write();
            }
            long leftNs = (long) ((timeS - firstS) * 1e9) - (System.nanoTime() - beganNs);
            if (leftNs > 0) {
                Thread.sleep(leftNs / 1_000_000, (int) (leftNs % 1_000_000));
            }
        }
    }

    private static boolean isFull(Object times) {
        return userCount(times) >= MOST || isMemoryFull();
    }

    private static int userCount(Object times) {
        try {
            if (users == null) {
                ClassLoader loader = times.getClass().getClassLoader();
                users = loader.loadClass("org.apache.jmeter.threads.JMeterContextService").getMethod("getNumberOfThreads");
            }
            return (int) users.invoke(null);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static boolean isMemoryFull() {
        MemoryUsage usage = OLD == null ? null : OLD.getCollectionUsage();
        if (usage == null || usage.getMax() <= 0 || usage.getUsed() < FULL * usage.getMax()) {
            return false;
        }
        long nowNs = System.nanoTime();
        if (nowNs - collectedNs > COLLECT_NS) { // while few users work, nothing else would find out what they left
            collectedNs = nowNs;
            System.gc();
        }
        return true;
    }

    private static void write() {
        Path file = AllowedConnections.list().resolveSibling(FILE);
        try {
            Files.writeString(file, Long.toString(COUNT.get()));
        } catch (IOException error) {
            System.err.println("the number of arrivals that were left out is not known: " + error);
        }
    }
}
