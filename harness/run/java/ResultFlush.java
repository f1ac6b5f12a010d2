import java.io.IOException;
import java.io.PrintWriter;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Flushes JMeter's CSV results every {@link #PERIOD_MS}, so that JMeter may collect rows in its buffer, and writes the number
 * of active users, which no row tells while all requests hang.
 *
 * With {@code jmeter.save.saveservice.autoflush=true} each row is a write of its own, within the lock that all users share.
 * Without it, a row would be in the file only when the buffer of 8 KB is full: too late for progress, and lost when JMeter
 * is killed. The agent patches JMeter's {@code CSVSaveService}, which passes the writer of each row.
 */
public final class ResultFlush {
    private static final long PERIOD_MS = 500;
    private static final String SERVICE = "org/apache/jmeter/save/CSVSaveService";
    private static final Set<PrintWriter> WRITERS = ConcurrentHashMap.newKeySet();
    private static final AtomicBoolean STARTED = new AtomicBoolean();
    private static int userCount; // a controller of load generators has none, and writes no file
    private static PrintWriter latest; // a stale value costs a look into WRITERS only

    private ResultFlush() {}

    /** Patches JMeter's writer of rows when it is loaded. */
    static void install(Instrumentation instrumentation) {
        MethodPatch patch = new MethodPatch("saveSampleResult", "Ljava/io/PrintWriter;", false, "ResultFlush", "see");
        patch.install(
                instrumentation,
                SERVICE,
                "results are not flushed regularly: the CSV writer of this JMeter cannot be patched");
    }

    /** Called by the patched method for each row. */
    public static void see(PrintWriter writer) {
        if (writer != latest) {
            latest = writer;
            if (WRITERS.add(writer) && STARTED.compareAndSet(false, true)) {
                ClassLoader loader = Thread.currentThread().getContextClassLoader();
                Thread thread = new Thread(() -> flush(loader), "flushes results");
                thread.setDaemon(true);
                thread.start();
            }
        }
    }

    private static void flush(ClassLoader loader) {
        Path users = AllowedConnections.list().resolveSibling("active-users.txt");
        while (true) {
            try {
                Thread.sleep(PERIOD_MS);
            } catch (InterruptedException error) {
                return;
            }
            WRITERS.forEach(PrintWriter::flush);
            try {
                writeUsers(loader, users);
            } catch (IOException | ReflectiveOperationException error) {
                // The harness then knows them from the rows.
            }
        }
    }

    private static void writeUsers(ClassLoader loader, Path file) throws IOException, ReflectiveOperationException {
        Method count = loader.loadClass("org.apache.jmeter.threads.JMeterContextService").getMethod("getNumberOfThreads");
        int current = (int) count.invoke(null);
        if (current != userCount) {
            userCount = current;
            Files.writeString(file, Integer.toString(current));
        }
    }
}
