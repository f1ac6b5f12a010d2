import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Does what the agent repeats every {@link #PERIOD_MS} while JMeter runs users or writes rows, and once more when Java ends.
 *
 * An Error, such as a full heap for a moment, must not end it: rows would stay in JMeter's buffer.
 */
final class Ticker {
    private static final long PERIOD_MS = 500;
    private static final AtomicBoolean STARTED = new AtomicBoolean();

    private Ticker() {}

    /** What is repeated. */
    interface Action {
        void run() throws Exception;
    }

    /** Repeats an action in a thread of this name, whatever it throws, until Java ends. */
    static void every(long periodMs, String name, Action action) {
        Thread thread = new Thread(() -> repeat(periodMs, action), name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Called by threads of JMeter, whose class loader is kept. */
    static void start() {
        if (STARTED.get() || !STARTED.compareAndSet(false, true)) {
            return;
        }
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        every(PERIOD_MS, "flushes results", () -> tick(loader));
        WakeDelays.start();
        Runtime.getRuntime().addShutdownHook(new Thread(Ticker::end));
    }

    private static void repeat(long periodMs, Action action) {
        while (true) {
            try {
                Thread.sleep(periodMs);
            } catch (InterruptedException error) {
                return;
            }
            attempt(action);
        }
    }

    private static void tick(ClassLoader loader) {
        attempt(ClockSteps::look);
        if (!WarmUp.isOn()) {
            attempt(() -> ResultFlush.flush(loader));
            attempt(DeadUsers::write);
            attempt(GroupCounts::write);
            attempt(Amounts::write);
            attempt(WakeDelays::write);
        }
    }

    private static void end() {
        attempt(ClockSteps::look);
        attempt(ResultFlush::end);
        attempt(DeadUsers::write);
        attempt(GroupCounts::end);
        attempt(Amounts::write);
        attempt(WakeDelays::end);
    }

    private static void attempt(Action action) {
        try {
            action.run();
        } catch (Throwable error) {
            // The next time may succeed; the harness knows from missing files what is not known.
        }
    }

    /** A small file beside the list of connections, whose text never becomes shorter: one cut by a kill is whole. */
    static final class Kept {
        private final String name;
        private FileChannel out;
        private long endsAt;

        Kept(String name) {
            this.name = name;
        }

        synchronized void write(String text) throws IOException {
            put(text, 0);
        }

        /** Adds a text to those that were added before; one that fails must be added again. */
        synchronized void append(String text) throws IOException {
            endsAt = put(text, endsAt);
        }

        private long put(String text, long from) throws IOException {
            if (out == null) {
                Path file = AllowedConnections.list().resolveSibling(name);
                out = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            }
            long at = from;
            for (ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)); bytes.hasRemaining(); ) {
                at += out.write(bytes, at);
            }
            return at;
        }

        synchronized void clear() throws IOException {
            if (out != null) {
                out.truncate(0);
            }
        }
    }
}
