import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Counts samples that are sent with the mark for the end of a data file in place of its data, or with its header.
 *
 * A CSV Data Set Config that neither recycles its file nor stops the thread lets its users go on with the mark. One that has
 * names of variables takes the first line for data unless it is told to ignore it: each variable then has its own name.
 */
public final class EndedData {
    private static final String CONTEXT = "org/apache/jmeter/threads/JMeterContext";
    private static final String DATA = "org/apache/jmeter/config/CSVDataSet";
    private static final String RESULT = "org/apache/jmeter/samplers/SampleResult";
    private static final String OBJECT = "Ljava/lang/Object;";
    private static final String TEXT = "Ljava/lang/String;";
    private static final String MARK = "<EOF>";
    /** As it is in what was sent. */
    private static final Pattern SENT = Pattern.compile("(?:<|%3c|&lt;)EOF(?:>|%3e|&gt;)", Pattern.CASE_INSENSITIVE);
    /** The latest line that this thread got, and the headers among its lines. */
    private static final ThreadLocal<Line> LINE = ThreadLocal.withInitial(Line::new);
    /** Whether a file of this thread has ended. */
    private static final ThreadLocal<Boolean> HAS_ENDED = new ThreadLocal<>();

    private EndedData() {}

    /** The variables that a line sets. */
    private static final class Line {
        private final Set<String> names = new HashSet<>();
        private boolean isHead = true;
        /** The variables that have the words of a header now: what finds them in what was sent. */
        private final Map<String, Pattern> heads = new HashMap<>();

        void begins() {
            if (isHead) {
                for (String name : names) {
                    heads.computeIfAbsent(name, one -> Pattern.compile("(?<![\\w$])" + Pattern.quote(one) + "(?!\\w)", Pattern.CASE_INSENSITIVE));
                }
            } else if (!heads.isEmpty()) {
                heads.keySet().removeAll(names);
            }
            names.clear();
            isHead = true;
        }

        void sets(String name, String value) {
            isHead &= name.equalsIgnoreCase(value.strip());
            if (isHead || !heads.isEmpty()) {
                names.add(name);
            }
        }

        boolean isSentIn(String sent) {
            return heads.values().stream().anyMatch(head -> head.matcher(sent).find());
        }
    }

    /** Patches where the mark is given to a user, and where a sample is done. */
    static void install(Instrumentation instrumentation) {
        String consequence = "samples without data are not counted: this JMeter cannot be patched: ";
        String put = "org/apache/jmeter/threads/JMeterVariables put (" + TEXT + TEXT + ")V";
        new CallPatch("iterationStart", put, "EndedData", "put", "(" + OBJECT + TEXT + TEXT + ")V")
                .install(instrumentation, DATA, consequence + put);
        new MethodPatch("iterationStart", MethodPatch.THIS, false, "EndedData", "begins", OBJECT)
                .install(instrumentation, DATA, consequence + DATA);
        new MethodPatch("setPreviousResult", "L" + RESULT + ";", false, "EndedData", "sampled", OBJECT)
                .install(instrumentation, CONTEXT, consequence + CONTEXT);
    }

    /** Called before a user gets a line of a file. */
    public static void begins(Object data) {
        LINE.get().begins();
    }

    /** Called instead of JMeterVariables.put. */
    public static void put(Object variables, String name, String value) {
        try {
            Access.PUT.invoke(variables, name, value);
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
        if (MARK.equals(value)) {
            HAS_ENDED.set(true);
        }
        if (name != null && value != null) {
            LINE.get().sets(name, value);
        }
    }

    /** Called with each result of a sampler. */
    public static void sampled(Object result) {
        Line line = LINE.get();
        line.begins();
        boolean hasEnded = HAS_ENDED.get() != null;
        GroupCounts.Group group = result == null || !hasEnded && line.heads.isEmpty() ? null : Users.group();
        if (group == null) {
            return;
        }
        try {
            String sent = Access.URL.invoke(result) + "\n" + Access.SENT.invoke(result);
            if (hasEnded && SENT.matcher(sent).find()) {
                group.count("without data", (String) Access.LABEL.invoke(result));
            }
            if (line.isSentIn(sent)) {
                group.count("with header", (String) Access.LABEL.invoke(result));
            }
        } catch (Throwable error) {
            // JMeter's thread goes on.
        }
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        private static final MethodType OF_TEXTS = MethodType.methodType(void.class, String.class, String.class);
        static final MethodHandle PUT = handle("org.apache.jmeter.threads.JMeterVariables", "put", OF_TEXTS);
        static final MethodHandle URL = text("getUrlAsString");
        static final MethodHandle SENT = text("getSamplerData");
        static final MethodHandle LABEL = text("getSampleLabel");

        private static MethodHandle text(String method) {
            return handle(RESULT.replace('/', '.'), method, MethodType.methodType(String.class));
        }

        private static MethodHandle handle(String name, String method, MethodType type) {
            try {
                ClassLoader loader = Thread.currentThread().getContextClassLoader();
                MethodHandle found = MethodHandles.publicLookup().findVirtual(Class.forName(name, true, loader), method, type);
                return found.asType(found.type().changeParameterType(0, Object.class));
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
