import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Counts results that the plan hides: for which a script, an assertion or the sampler itself called {@code setIgnore}.
 *
 * No listener gets them, so that no row has them. The time of one is a pause of its user, as no sample has it. Of the rows
 * it counts failures that scripts of the plan made successes: of samplers, with another code, and of assertions; and successes
 * for which nothing was sent: of a cache, a Debug or Dummy Sampler, or a script within a millisecond; and those without a
 * byte of an answer, to a TCP Sampler whose server closed the connection, and of programs that ended with an error.
 */
public final class IgnoredResults {
    private static final String THREAD = "org/apache/jmeter/threads/JMeterThread";
    private static final String RESULT = "org/apache/jmeter/samplers/SampleResult";
    /** JMeter asks several times for one result. */
    private static final ThreadLocal<Object> LATEST = new ThreadLocal<>();

    /** The latest result of a thread that an assertion failed, and that is a success. */
    private static final ThreadLocal<Object> MADE_GOOD = new ThreadLocal<>();

    /**
     * The results of a thread that wait for their row, those of a parent transaction for its end: failures, with their code,
     * and successes for which nothing was sent, with {@link #UNSENT}, or that have no answer, with {@link #UNANSWERED},
     * or {@link #EXITED}.
     */
    private static final ThreadLocal<Map<Object, Object>> WAITING = ThreadLocal.withInitial(() -> new IdentityHashMap<>(2));

    private static final Object UNSENT = new Object();
    private static final Object UNANSWERED = new Object();
    private static final Object EXITED = new Object();
    /** A thread with more of them has results that get no row. */
    private static final int MOST_WAITING = 200;

    private static final Set<String> SENDS_NOTHING = Set.of("DebugSampler", "DummySampler");
    private static final Set<String> MAY_SEND = Set.of("JSR223Sampler", "BeanShellSampler", "BSFSampler");
    /** A script that sends something takes longer, ms. */
    private static final long QUICK_MS = 1;

    private IgnoredResults() {}

    /** Patches the places in which JMeter asks, and those between which scripts may change a result. */
    static void install(Instrumentation instrumentation) {
        String consequence = "failures that scripts change are not counted: this JMeter cannot be patched: ";
        String[][] patches = {
            {"org/apache/jmeter/threads/JMeterContext", "setPreviousResult", "L" + RESULT + ";", "sampled"},
            {"org/apache/jmeter/save/CSVSaveService", "resultToDelimitedString", "L" + RESULT + ";", "written"},
        };
        for (String[] one : patches) {
            new MethodPatch(one[1], one[2], false, "IgnoredResults", one[3], "Ljava/lang/Object;")
                    .install(instrumentation, one[0], consequence + one[1]);
        }
        String asks = RESULT + " isIgnore ()Z";
        new CallPatch("executeSamplePackage", asks, "IgnoredResults", "isIgnored", "(Ljava/lang/Object;)Z")
                .install(instrumentation, THREAD, "ignored results are not counted: this JMeter cannot be patched: " + asks);
    }

    /** Called with each result of a sampler, before any script of the plan. */
    public static void sampled(Object result) {
        try {
            if (result == null) {
                return;
            }
            if (!(boolean) Access.IS_SUCCESSFUL.invoke(result)) {
                waits(result, Objects.requireNonNullElse(Access.CODE.invoke(result), ""));
            } else if ((long) Access.SENT.invoke(result) == 0 && isUnsent(result)) {
                waits(result, UNSENT);
            } else if ((long) Access.RECEIVED.invoke(result) == 0 && sampler().equals("TCPSampler")) {
                waits(result, UNANSWERED);
            } else if (sampler().equals("SystemSampler") && !"0".equals(Access.CODE.invoke(result))) {
                waits(result, EXITED);
            }
        } catch (Throwable error) {
            // JMeter's thread goes on.
        }
    }

    private static void waits(Object result, Object mark) {
        Map<Object, Object> waiting = WAITING.get();
        if (waiting.size() >= MOST_WAITING) {
            waiting.clear();
        }
        waiting.put(result, mark);
    }

    private static boolean isUnsent(Object result) throws Throwable {
        if (result.getClass().getSimpleName().equals("HTTPSampleResult")) {
            return (long) Access.RECEIVED.invoke(result) == 0;
        }
        String kind = sampler();
        return SENDS_NOTHING.contains(kind) || MAY_SEND.contains(kind) && (long) Access.TIME.invoke(result) <= QUICK_MS;
    }

    /** Returns the class of the sampler that is at work. */
    private static String sampler() throws Throwable {
        Object sampler = Access.SAMPLER.invoke(Access.CONTEXT.invoke());
        return sampler == null ? "" : sampler.getClass().getSimpleName();
    }

    /** Called before the row of a result is written, by each listener that writes one; also of those in a transaction. */
    public static void written(Object result) {
        try {
            Map<Object, Object> waiting = WAITING.get();
            Object mark = waiting.isEmpty() ? null : waiting.remove(result);
            if (!(boolean) Access.IS_SUCCESSFUL.invoke(result)) {
                return;
            }
            String what = whatOf(mark, result);
            GroupCounts.Group group = what == null ? null : Users.group();
            if (group != null) {
                group.count(what, (String) Access.LABEL.invoke(result));
            }
        } catch (Throwable error) {
            // JMeter's thread goes on.
        }
    }

    /** Returns what is counted of a success with a mark of before its scripts and assertions; null for nothing. */
    private static String whatOf(Object mark, Object result) throws Throwable {
        boolean isMark = mark == UNSENT || mark == UNANSWERED || mark == EXITED;
        if (mark == null || isMark ? hasFailed(result) : !mark.equals(Access.CODE.invoke(result))) {
            return "made good";
        }
        if (!isMark || mark == UNSENT) {
            return isMark ? "not sent" : null;
        }
        boolean isMeant = ((Object[]) Access.ASSERTIONS.invoke(result)).length > 0; // one that passed says so
        return isMeant ? null : mark == EXITED ? "exited" : "unanswered";
    }

    /** Returns whether an assertion failed a result, the first time that this is asked of it. */
    private static boolean hasFailed(Object result) throws Throwable {
        for (Object assertion : (Object[]) Access.ASSERTIONS.invoke(result)) {
            if ((boolean) OfAssertion.IS_FAILURE.invoke(assertion) || (boolean) OfAssertion.IS_ERROR.invoke(assertion)) {
                boolean isFirst = MADE_GOOD.get() != result;
                MADE_GOOD.set(result);
                return isFirst;
            }
        }
        return false;
    }

    /** Called instead of SampleResult.isIgnore. */
    public static boolean isIgnored(Object result) {
        try {
            boolean isIgnored = (boolean) Access.IS_IGNORED.invoke(result);
            if (isIgnored && LATEST.get() != result) {
                LATEST.set(result);
                WAITING.get().remove(result);
                count(result);
            }
            return isIgnored;
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
    }

    private static void count(Object result) throws Throwable {
        GroupCounts.Group group = Users.group();
        if (group == null) {
            return;
        }
        long endNs = System.nanoTime();
        long tookMs = (long) Access.TIME.invoke(result);
        group.ignores((String) Access.LABEL.invoke(result), (boolean) Access.IS_SUCCESSFUL.invoke(result), tookMs);
        Users.ignored();
        Users.pauses(endNs - TimeUnit.MILLISECONDS.toNanos(tookMs), endNs);
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        static final MethodHandle IS_IGNORED = Handles.of(RESULT, "isIgnore");
        static final MethodHandle IS_SUCCESSFUL = Handles.of(RESULT, "isSuccessful");
        static final MethodHandle TIME = Handles.of(RESULT, "getTime");
        static final MethodHandle LABEL = Handles.of(RESULT, "getSampleLabel");
        static final MethodHandle CODE = Handles.of(RESULT, "getResponseCode");
        static final MethodHandle SENT = Handles.of(RESULT, "getSentBytes");
        static final MethodHandle RECEIVED = Handles.of(RESULT, "getBytesAsLong");
        static final MethodHandle ASSERTIONS = Handles.of(RESULT, "getAssertionResults");
        static final MethodHandle SAMPLER = Handles.of("org/apache/jmeter/threads/JMeterContext", "getCurrentSampler");
        static final MethodHandle CONTEXT = Handles.of("org/apache/jmeter/threads/JMeterContextService", "getContext");
    }

    /** The same of assertions. */
    private static final class OfAssertion {
        private static final String ASSERTION = "org/apache/jmeter/assertions/AssertionResult";
        static final MethodHandle IS_FAILURE = Handles.of(ASSERTION, "isFailure");
        static final MethodHandle IS_ERROR = Handles.of(ASSERTION, "isError");
    }
}
