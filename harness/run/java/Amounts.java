import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Counts messages, rows and WebSocket sessions of samples, and what opening a connection took.
 *
 * {@link #FILE}, in the current folder, has a line per label, kind, second and duration, and one per session: its end, and
 * how long it was open. What a sampler waits outside of its sample, as for a message, is a pause of its user. Counted by
 * thread group: how long samples that only wait for messages took, what samplers took outside of their samples, and by how
 * much samples say that they took longer than they did.
 */
public final class Amounts {
    static final String FILE = "amounts.csv";

    private static final String HEAD = "end_ms,label,kind,count,duration_us\n";
    private static final String THREAD = "org/apache/jmeter/threads/JMeterThread";
    private static final String CONTEXT = "org/apache/jmeter/threads/JMeterContext";
    private static final String JDBC = "org/apache/jmeter/protocol/jdbc/AbstractJDBCTestElement";
    private static final String GRPC = "io/grpc/stub/ClientCalls";
    private static final String OBJECT = "Ljava/lang/Object;";
    /** What a JDBC Request answers that reads no row: of each statement how many it changed, or only counted. */
    private static final Pattern CHANGED = Pattern.compile("(\\d+) (?:updates|rows)\\.?\\s*");
    /** HTTP requests, pauses and scripts, which are measured whole. */
    private static final Pattern OWN =
            Pattern.compile("org\\.apache\\.jmeter\\.(?:protocol\\.http|sampler|protocol\\.java\\.sampler\\.(?!JavaSampler))");
    private static final long MOST_BYTES = 1000;
    /** Times of samples are whole milliseconds, and a thread may get no processor: less is no wait. */
    private static final long LEAST_NS = 10_000_000L;
    /** A shorter look-up of a name asked no server. */
    private static final long LEAST_LOOKUP_NS = 1_000_000L;
    private static final long MS_PER_S = 1000;
    /** Durations are counted in tenths of a millisecond. */
    private static final long STEP_US = 100;
    private static final ThreadLocal<Current> CURRENT = ThreadLocal.withInitial(Current::new);
    private static final Ticker.Kept OUT = new Ticker.Kept(Path.of(FILE).toAbsolutePath().toString());
    private static final StringBuilder SESSIONS = new StringBuilder();
    private static final Map<String, Long> COUNTS = new LinkedHashMap<>();
    private static boolean hasHead;
    private static volatile boolean isOn;

    private Amounts() {}

    /** What the samples of a sampler stand for. */
    private enum Kind {
        NONE, OTHER, ROWS, SENDS, RECEIVES, AWAITS, READS, OPENS, CLOSES
    }

    /** What a thread is doing. */
    private static final class Current {
        Kind kind = Kind.NONE;
        long beganNs;
        long rowCount;
        /** Messages of gRPC in the sample. */
        long sentCount;
        long receivedCount;
        /** When its WebSocket was opened, and by which step; 0 without one. */
        long openedNs;
        String opener;
    }

    private static final ClassValue<Kind> KINDS = new ClassValue<>() {
        @Override
        protected Kind computeValue(Class<?> type) {
            if (OWN.matcher(type.getName()).lookingAt()) {
                return Kind.NONE;
            }
            return switch (type.getSimpleName()) {
                case "JDBCSampler" -> Kind.ROWS;
                case "PublisherSampler" -> Kind.SENDS;
                case "SubscriberSampler", "SubSampler" -> Kind.RECEIVES;
                case "SingleReadWebSocketSampler" -> Kind.AWAITS;
                case "RequestResponseWebSocketSampler" -> Kind.READS;
                case "OpenWebSocketSampler" -> Kind.OPENS;
                case "CloseWebSocketSampler" -> Kind.CLOSES;
                default -> Kind.OTHER;
            };
        }
    };

    /** Patches JMeter's threads and its JDBC Request when they are loaded. */
    static void install(Instrumentation instrumentation) {
        String consequence = "messages, rows and sessions are not counted: this JMeter cannot be patched: ";
        String[][] patches = {
            {THREAD, "doSampling", "Lorg/apache/jmeter/samplers/Sampler;", "begins"},
            {CONTEXT, "setPreviousResult", "Lorg/apache/jmeter/samplers/SampleResult;", "ended"},
            {JDBC, "processRow", "Ljava/sql/ResultSet;", "row"},
            // In the thread of the caller; of a call whose answer another thread gets, its messages are not known.
            {GRPC, "asyncUnaryRequestCall", "L" + GRPC + "$StartableListener;", "sent"},
            {GRPC + "$CallToStreamObserverAdapter", "onNext", OBJECT, "sent"},
            {GRPC + "$UnaryStreamToFuture", "onMessage", OBJECT, "received"},
            {GRPC + "$BlockingResponseStream", "next", MethodPatch.THIS, "received"},
        };
        for (String[] one : patches) {
            new MethodPatch(one[1], one[2], false, "Amounts", one[3], OBJECT).install(instrumentation, one[0], consequence + one[1]);
        }
    }

    /** Called before a sampler samples. */
    public static void begins(Object sampler) {
        Kind kind = WarmUp.isOn() ? Kind.NONE : KINDS.get(sampler.getClass());
        if (kind == Kind.NONE && !isOn) {
            return;
        }
        isOn = true;
        Current current = CURRENT.get();
        current.kind = kind;
        current.beganNs = System.nanoTime();
        current.rowCount = 0;
        current.sentCount = 0;
        current.receivedCount = 0;
    }

    /** Called for each message of a gRPC call. */
    public static void sent(Object call) {
        if (isOn) {
            CURRENT.get().sentCount++;
        }
    }

    /** Called for each message of the answer. */
    public static void received(Object call) {
        if (isOn) {
            CURRENT.get().receivedCount++;
        }
    }

    /** Called by the lean HTTP sampler for each connection that it opened; `handshakeNs` is below 0 without a handshake. */
    public static void connected(String label, long lookupNs, long handshakeNs) {
        if (WarmUp.isOn()) {
            return;
        }
        if (lookupNs >= LEAST_LOOKUP_NS) {
            add(label, "name lookups", 1, TimeUnit.NANOSECONDS.toMicros(lookupNs));
        }
        if (handshakeNs >= 0) {
            add(label, "TLS handshakes", 1, TimeUnit.NANOSECONDS.toMicros(handshakeNs));
        }
    }

    /** Called by the lean HTTP sampler when writing a request took long: it waits while the server does not read. */
    public static void written(String label, long tookNs) {
        if (!WarmUp.isOn()) {
            add(label, "requests written", 1, TimeUnit.NANOSECONDS.toMicros(tookNs));
        }
    }

    /** Called for each row that a JDBC Request reads. */
    public static void row(Object rows) {
        CURRENT.get().rowCount++;
    }

    /** Called with each result, before its assertions. */
    public static void ended(Object result) {
        if (!isOn || result == null) {
            return;
        }
        Current current = CURRENT.get();
        Kind kind = current.kind;
        current.kind = Kind.NONE;
        if (kind == Kind.NONE) {
            return;
        }
        try {
            long nowNs = System.nanoTime();
            long outsideNs = nowNs - current.beganNs - TimeUnit.MILLISECONDS.toNanos((long) Access.TIME.invoke(result));
            if (outsideNs >= LEAST_NS) {
                Users.pauses(current.beganNs, current.beganNs + outsideNs);
                byGroup("outside", result, TimeUnit.NANOSECONDS.toMillis(outsideNs));
            } else if (outsideNs <= -LEAST_NS) {
                byGroup("beyond", result, TimeUnit.NANOSECONDS.toMillis(-outsideNs));
            }
            if (kind == Kind.RECEIVES || kind == Kind.AWAITS) {
                byGroup("awaited", result, (long) Access.TIME.invoke(result));
            }
            count(current, kind, result, nowNs);
        } catch (Throwable error) {
            // JMeter's thread goes on.
        }
    }

    private static void byGroup(String what, Object result, long ms) throws Throwable {
        GroupCounts.Group group = Users.group();
        if (group != null && ms > 0) {
            group.count(what, (String) Access.LABEL.invoke(result), ms);
        }
    }

    private static void count(Current current, Kind kind, Object result, long nowNs) throws Throwable {
        boolean isSuccessful = (boolean) Access.IS_SUCCESSFUL.invoke(result);
        String label = (String) Access.LABEL.invoke(result);
        boolean isClosed = kind == Kind.OPENS || kind == Kind.CLOSES;
        if (kind == Kind.ROWS) {
            add(label, "rows", isSuccessful ? rowCount(current, result) : 0);
        } else if (kind == Kind.SENDS) {
            add(label, "messages sent", isSuccessful ? (int) Access.SAMPLE_COUNT.invoke(result) : 0);
        } else if (kind == Kind.RECEIVES) {
            long count = (int) Access.SAMPLE_COUNT.invoke(result);
            // One is also what a result has that nobody sets.
            boolean isKnown = isSuccessful || count != 1 || text(Access.MESSAGE, result).startsWith("1 ");
            add(label, "messages", isKnown ? count : 0);
        } else if (kind == Kind.OTHER && current.sentCount + current.receivedCount > 0) {
            add(label, "messages", current.receivedCount);
            add(label, "messages sent", current.sentCount);
        } else if (kind == Kind.READS || kind == Kind.AWAITS) {
            add(label, "messages", isSuccessful && (long) Access.BYTES.invoke(result) > 0 ? 1 : 0);
            isClosed = !isSuccessful && text(Access.MESSAGE, result).contains("Close frame");
        }
        if (isClosed) {
            closes(current, nowNs);
        }
        if (kind == Kind.OPENS && isSuccessful) {
            current.openedNs = nowNs;
            current.opener = label;
        }
    }

    private static long rowCount(Current current, Object result) throws Throwable {
        long count = current.rowCount;
        if (count == 0 && (long) Access.BYTES.invoke(result) < MOST_BYTES) {
            Matcher changed = CHANGED.matcher(text(Access.DATA, result));
            while (changed.lookingAt()) {
                count += Long.parseLong(changed.group(1));
                changed.region(changed.end(), changed.regionEnd());
            }
        }
        return count;
    }

    private static String text(MethodHandle of, Object result) throws Throwable {
        String text = (String) of.invoke(result);
        return text == null ? "" : text;
    }

    /** Called by a thread that ends. */
    static void finished() {
        if (isOn) {
            closes(CURRENT.get(), System.nanoTime());
            CURRENT.remove();
        }
    }

    private static void closes(Current current, long nowNs) {
        if (current.openedNs == 0) {
            return;
        }
        String head = GroupCounts.nowMs() + "," + quoted(current.opener);
        long us = TimeUnit.NANOSECONDS.toMicros(nowNs - current.openedNs);
        current.openedNs = 0;
        synchronized (COUNTS) {
            SESSIONS.append(head).append(",sessions,1,").append(us).append('\n');
        }
    }

    private static void add(String label, String kind, long count) {
        add(label, kind, count, 0);
    }

    private static void add(String label, String kind, long count, long durationUs) {
        long second = GroupCounts.nowMs() / MS_PER_S * MS_PER_S;
        String key = second + "," + quoted(label) + ',' + kind + '\n' + durationUs / STEP_US * STEP_US;
        synchronized (COUNTS) {
            COUNTS.merge(key, count, Long::sum);
        }
    }

    private static String quoted(String label) {
        return '"' + label.replace("\"", "\"\"") + '"';
    }

    /** Writes what was counted since the last time. */
    static void write() throws IOException {
        StringBuilder lines = new StringBuilder();
        synchronized (COUNTS) {
            lines.append(SESSIONS);
            COUNTS.forEach((key, count) -> {
                int end = key.lastIndexOf('\n');
                lines.append(key, 0, end).append(',').append(count).append(',').append(key, end + 1, key.length()).append('\n');
            });
            SESSIONS.setLength(0);
            COUNTS.clear();
        }
        if (lines.length() > 0) {
            OUT.append(hasHead ? lines.toString() : HEAD + lines);
            hasHead = true;
        }
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        private static final String RESULT = "org.apache.jmeter.samplers.SampleResult";
        static final MethodHandle IS_SUCCESSFUL = Handles.of(RESULT, "isSuccessful");
        static final MethodHandle LABEL = Handles.of(RESULT, "getSampleLabel");
        static final MethodHandle SAMPLE_COUNT = Handles.of(RESULT, "getSampleCount");
        static final MethodHandle TIME = Handles.of(RESULT, "getTime");
        static final MethodHandle BYTES = Handles.of(RESULT, "getBytesAsLong");
        static final MethodHandle MESSAGE = Handles.of(RESULT, "getResponseMessage");
        static final MethodHandle DATA = Handles.of(RESULT, "getResponseDataAsString");
    }
}
