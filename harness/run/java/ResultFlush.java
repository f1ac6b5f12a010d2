import java.io.IOException;
import java.io.PrintWriter;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Flushes JMeter's CSV results regularly, so that JMeter may collect rows in its buffer, counts the rows of the harness's
 * file, and writes the number of active users, which no row tells while all requests hang.
 *
 * With {@code jmeter.save.saveservice.autoflush=true} each row is a write of its own, within the lock that all users share.
 * Without it, a row would be in the file only when the buffer of 8 KB is full: too late for progress, and lost when JMeter
 * is killed. The agent patches JMeter's {@code CSVSaveService}, which passes the writer of each row.
 *
 * {@link #FILE} has the number of rows, whether JMeter has ended, and by how much the clock was set, separated by blanks.
 * Until JMeter ends, the number is that of one tick before, so that a JMeter that is killed has written at least as many.
 */
public final class ResultFlush {
    static final String FILE = "rows.txt";
    private static final String SERVICE = "org/apache/jmeter/save/CSVSaveService";
    private static final String COLLECTOR = "org.apache.jmeter.reporters.ResultCollector";
    /** SAMPLES_NAME in harness/jtl/sample.py. */
    private static final String RESULTS = "samples.jtl";
    private static final String WRITER = "Ljava/io/PrintWriter;";
    private static final Map<PrintWriter, Rows> WRITERS = new ConcurrentHashMap<>();
    private static final Ticker.Kept OUT = new Ticker.Kept(FILE);
    private static int userCount;
    private static Rows latest = new Rows(null); // a stale one costs a look into WRITERS only
    private static long earlierCount;
    private static boolean hasEnded;

    private ResultFlush() {}

    /**
     * The rows that a writer gets. JMeter calls for the sub-results of each sample and of each sub-result if their rows are
     * written, too: then the calls are as many as all rows.
     */
    private static final class Rows {
        final PrintWriter writer;
        final LongAdder samples = new LongAdder();
        final LongAdder calls = new LongAdder();
        boolean isCounted;

        Rows(PrintWriter writer) {
            this.writer = writer;
        }

        long count() {
            return Math.max(samples.sum(), calls.sum());
        }
    }

    /** Patches JMeter's writer of rows when it is loaded. */
    static void install(Instrumentation instrumentation) {
        String consequence = "results are not flushed regularly: the CSV writer of this JMeter cannot be patched";
        new MethodPatch("saveSampleResult", WRITER, false, "ResultFlush", "see").install(instrumentation, SERVICE, consequence);
        new MethodPatch("saveSubResults", WRITER, false, "ResultFlush", "seeParts")
                .install(instrumentation, SERVICE, "rows are not counted: the CSV writer of this JMeter cannot be patched");
    }

    /** Called by the patched method for each sample. */
    public static void see(PrintWriter writer) {
        rows(writer).samples.increment();
    }

    /** Called by the patched method for each sample and sub-result whose sub-results have rows. */
    public static void seeParts(PrintWriter writer) {
        rows(writer).calls.increment();
    }

    private static Rows rows(PrintWriter writer) {
        Rows rows = latest;
        if (rows.writer != writer) {
            rows = WRITERS.computeIfAbsent(writer, ResultFlush::begun);
            latest = rows;
        }
        return rows;
    }

    private static Rows begun(PrintWriter writer) {
        Ticker.start();
        Rows rows = new Rows(writer);
        try {
            Class<?> collector = Class.forName(COLLECTOR, false, Thread.currentThread().getContextClassLoader());
            Field files = collector.getDeclaredField("files");
            files.setAccessible(true);
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) files.get(null)).entrySet()) {
                Field of = entry.getValue().getClass().getDeclaredField("pw");
                of.setAccessible(true);
                if (of.get(entry.getValue()) == writer) {
                    rows.isCounted = Path.of((String) entry.getKey()).toAbsolutePath().equals(Path.of(RESULTS).toAbsolutePath());
                }
            }
        } catch (ReflectiveOperationException | RuntimeException error) {
            System.err.println("rows are not counted: " + error);
        }
        return rows;
    }

    /** Forgets the rows so far, of the warm-up. */
    static void forget() {
        WRITERS.clear();
        latest = new Rows(null);
    }

    /** Flushes the results; writes the numbers of rows and of active users. */
    static void flush(ClassLoader loader) throws IOException, ReflectiveOperationException {
        long count = count();
        WRITERS.keySet().forEach(PrintWriter::flush);
        if (!WRITERS.isEmpty()) {
            writeUsers(loader);
            write(earlierCount, false);
            earlierCount = count;
        }
    }

    /** Writes the number of rows when JMeter ends. */
    static void end() throws IOException {
        if (!WRITERS.isEmpty()) {
            write(count(), true);
        }
    }

    private static long count() {
        return WRITERS.values().stream().filter(rows -> rows.isCounted).mapToLong(Rows::count).sum();
    }

    private static synchronized void write(long count, boolean isEnd) throws IOException {
        if (hasEnded) {
            return;
        }
        hasEnded = isEnd;
        OUT.write(String.format("%15d %5b %15d\n", count, isEnd, ClockSteps.mostMs()));
    }

    private static void writeUsers(ClassLoader loader) throws IOException, ReflectiveOperationException {
        Method count = loader.loadClass("org.apache.jmeter.threads.JMeterContextService").getMethod("getNumberOfThreads");
        int current = (int) count.invoke(null);
        if (current != userCount) {
            userCount = current;
            Files.writeString(AllowedConnections.list().resolveSibling("active-users.txt"), Integer.toString(current));
        }
    }
}
