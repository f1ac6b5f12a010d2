import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.lang.reflect.Field;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts the users whose thread an Error or an exception ends: JMeter writes no row for what they did last, and goes on.
 *
 * An Error ends a thread, or the task of a pool, which forgets it: Java calls {@link #ended} or {@link #failed}. JMeter
 * catches exceptions, and logs "Test failed!" in {@code JMeterThread.run}: {@link #logged}. A thread that was told to
 * stop, and one that JMeter ends with an exception of its own, such as "stop thread", are none of these.
 *
 * {@link #FILE}, beside the list of connections, has a line for each cause: what died, their number, the time of the first
 * (ms since 1970) and the cause, separated by tabs. It only grows, so that a JMeter that is killed leaves a whole one.
 */
public final class DeadUsers {
    static final String FILE = "dead-users.txt";
    private static final String THREAD = "org/apache/jmeter/threads/JMeterThread";
    private static final String LOGGER = "org/apache/logging/slf4j/Log4jLogger";
    /** How JMeter names the threads that fetch embedded resources; it only logs what they throw. */
    private static final String DOWNLOADS = "ResDownload-";
    private static final String USER = "user";
    private static final String DOWNLOAD = "download";
    private static final int MOST_CAUSES = 20;
    private static final int MOST_CAUSE = 200;
    /** So many deaths may wait for memory in which to write them. */
    private static final int MOST_WAITING = 4096;
    private static final Throwable[] WAITING = new Throwable[MOST_WAITING];
    private static final String[] KINDS = new String[MOST_WAITING];
    private static final long[] TIMES_MS = new long[MOST_WAITING];
    private static final AtomicInteger SEEN = new AtomicInteger();
    private static final Map<String, Cause> CAUSES = new LinkedHashMap<>();
    /** The JMeterThread that a thread runs. */
    private static final ThreadLocal<Object> CURRENT = new ThreadLocal<>();
    private static final Ticker.Kept OUT = new Ticker.Kept(FILE);
    private static int doneCount;

    private DeadUsers() {}

    /** What died of one cause. */
    private static final class Cause {
        final long firstMs;
        int count;

        Cause(long firstMs) {
            this.firstMs = firstMs;
        }
    }

    /** Patches Java's threads and tasks, and JMeter's threads and log when they are loaded. */
    static void install(Instrumentation instrumentation) {
        String throwable = "Ljava/lang/Throwable;";
        String consequence = "users that die are not seen: JMeter's threads cannot be patched";
        try {
            new MethodPatch("dispatchUncaughtException", throwable, false, "DeadUsers", "ended")
                    .retransform(instrumentation, Thread.class);
            new MethodPatch("setException", throwable, false, "DeadUsers", "failed")
                    .retransform(instrumentation, FutureTask.class);
        } catch (UnmodifiableClassException | IllegalStateException error) {
            System.err.println(consequence + ": " + error);
        }
        new MethodPatch("run", MethodPatch.THIS, false, "DeadUsers", "begin", "Ljava/lang/Object;")
                .install(instrumentation, THREAD, consequence);
        new MethodPatch("error", throwable, false, "DeadUsers", "logged").install(instrumentation, LOGGER, consequence);
    }

    /** Called by JMeter's threads when they begin. */
    public static void begin(Object jmeterThread) {
        CURRENT.set(jmeterThread);
        Ticker.start();
    }

    /** Called by Java for a thread that something ends which nobody catches; JMeter itself catches exceptions. */
    public static void ended(Throwable error) {
        if (error instanceof Error && CURRENT.get() != null) {
            add(USER, error);
        }
    }

    /** Called by Java for a task of a pool that ends in this way. */
    public static void failed(Throwable error) {
        if (!(error instanceof Error)) {
            return;
        }
        if (CURRENT.get() != null) {
            add(USER, error);
        } else if (Thread.currentThread().getName().startsWith(DOWNLOADS)) {
            add(DOWNLOAD, error);
        }
    }

    /** Called for each error with a throwable that JMeter logs. */
    public static void logged(Throwable error) {
        Object thread = CURRENT.get();
        if (thread == null || error == null) {
            return;
        }
        try {
            if (isLoggedByThread() && isRunning(thread)) {
                add(USER, error);
            }
        } catch (VirtualMachineError serious) {
            throw serious;
        } catch (Throwable other) {
            System.err.println("whether a user died is not known: " + other);
        }
    }

    /** Returns whether it is the last line of JMeterThread.run: its other errors end only a sample. */
    private static boolean isLoggedByThread() {
        return StackWalker.getInstance().walk(frames -> frames
                .dropWhile(frame -> frame.getClassName().equals("DeadUsers")
                        || frame.getClassName().equals(LOGGER.replace('/', '.')))
                .findFirst()
                .filter(frame -> frame.getClassName().equals(THREAD.replace('/', '.')))
                .filter(frame -> frame.getMethodName().equals("run"))
                .isPresent());
    }

    private static boolean isRunning(Object thread) throws ReflectiveOperationException {
        Field running = Class.forName(THREAD.replace('/', '.'), false, thread.getClass().getClassLoader())
                .getDeclaredField("running");
        running.setAccessible(true);
        return running.getBoolean(thread);
    }

    /** Notes a death without taking memory, which there may be none of, and tries to write it. */
    private static void add(String kind, Throwable error) {
        CURRENT.remove();
        if (WarmUp.isOn()) {
            return;
        }
        int at = SEEN.getAndIncrement();
        if (at >= MOST_WAITING) {
            return;
        }
        KINDS[at] = kind;
        TIMES_MS[at] = System.currentTimeMillis();
        synchronized (WAITING) {
            WAITING[at] = error;
        }
        try {
            write();
        } catch (Throwable failure) {
            // The next tick tries again.
        }
    }

    /** Writes the deaths that are not in the file yet. */
    static synchronized void write() throws IOException {
        boolean isNew = false;
        while (doneCount < Math.min(SEEN.get(), MOST_WAITING) && count(doneCount)) {
            doneCount++;
            isNew = true;
        }
        if (isNew) {
            StringBuilder text = new StringBuilder();
            CAUSES.forEach((cause, each) -> {
                int tab = cause.indexOf('\t');
                // A number of fixed width: the new content never ends before the old one.
                text.append(String.format("%s\t%9d\t%d%s\n", cause.substring(0, tab), each.count, each.firstMs, cause.substring(tab)));
            });
            OUT.write(text.toString());
        }
    }

    private static boolean count(int at) {
        Throwable error;
        synchronized (WAITING) {
            error = WAITING[at];
        }
        if (error == null) { // its thread is about to note it
            return false;
        }
        String key = KINDS[at] + '\t' + text(error);
        if (!CAUSES.containsKey(key) && CAUSES.size() >= MOST_CAUSES) {
            key = KINDS[at] + "\tother causes";
        }
        CAUSES.computeIfAbsent(key, unused -> new Cause(TIMES_MS[at])).count++;
        WAITING[at] = null;
        return true;
    }

    private static String text(Throwable error) {
        String message = error.getMessage() == null ? "" : error.getMessage().strip();
        String text = error.getClass().getName() + (message.isEmpty() ? "" : ": " + message);
        text = text.lines().findFirst().orElse("").replace('\t', ' ');
        return text.length() > MOST_CAUSE ? text.substring(0, MOST_CAUSE) + "…" : text;
    }
}
