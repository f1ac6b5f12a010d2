import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.concurrent.TimeUnit;

/**
 * Counts results that the plan hides: for which a script, an assertion or the sampler itself called {@code setIgnore}.
 *
 * No listener gets them, so that no row has them. The time of one is a pause of its user, as no sample has it.
 */
public final class IgnoredResults {
    private static final String THREAD = "org/apache/jmeter/threads/JMeterThread";
    private static final String RESULT = "org/apache/jmeter/samplers/SampleResult";
    /** JMeter asks several times for one result. */
    private static final ThreadLocal<Object> LATEST = new ThreadLocal<>();

    private IgnoredResults() {}

    /** Patches the places in which JMeter asks. */
    static void install(Instrumentation instrumentation) {
        String asks = RESULT + " isIgnore ()Z";
        new CallPatch("executeSamplePackage", asks, "IgnoredResults", "isIgnored", "(Ljava/lang/Object;)Z")
                .install(instrumentation, THREAD, "ignored results are not counted: this JMeter cannot be patched: " + asks);
    }

    /** Called instead of SampleResult.isIgnore. */
    public static boolean isIgnored(Object result) {
        try {
            boolean isIgnored = (boolean) Access.IS_IGNORED.invoke(result);
            if (isIgnored && LATEST.get() != result) {
                LATEST.set(result);
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
        Users.pauses(endNs - TimeUnit.MILLISECONDS.toNanos(tookMs), endNs);
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        static final MethodHandle IS_IGNORED = handle("isIgnore");
        static final MethodHandle IS_SUCCESSFUL = handle("isSuccessful");
        static final MethodHandle TIME = handle("getTime");
        static final MethodHandle LABEL = handle("getSampleLabel");

        private static MethodHandle handle(String method) {
            try {
                ClassLoader loader = Thread.currentThread().getContextClassLoader();
                Class<?> type = Class.forName(RESULT.replace('/', '.'), true, loader);
                MethodHandle found = MethodHandles.publicLookup().unreflect(type.getMethod(method));
                return found.asType(found.type().changeParameterType(0, Object.class));
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
