import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;

/**
 * Counts scripts beside a sampler that fail: JMeter only logs that, and the sample succeeds.
 *
 * One after an answer counts where the answer is a success: of a failure nothing else is expected.
 */
public final class FailedScripts {
    private static final String LOGGER = "org/slf4j/Logger";
    private static final String CONTEXT = "org.apache.jmeter.threads.JMeterContext";
    private static final String OBJECT = "Ljava/lang/Object;";
    private static final String TEXT = "Ljava/lang/String;";

    private FailedScripts() {}

    /** Patches where a failure is logged. */
    static void install(Instrumentation instrumentation) {
        String error = LOGGER + " error (" + TEXT + OBJECT + OBJECT + ")V";
        String[][] patches = {
            {"modifiers/JSR223PreProcessor", "process", "before"},
            {"timers/JSR223Timer", "delay", "before"},
            {"extractor/JSR223PostProcessor", "process", "after"},
        };
        for (String[] one : patches) {
            new CallPatch(one[1], error, "FailedScripts", one[2], "(" + OBJECT + TEXT + OBJECT + OBJECT + ")V")
                    .install(
                            instrumentation,
                            "org/apache/jmeter/" + one[0],
                            "scripts that fail are not counted: this JMeter cannot be patched: " + one[0]);
        }
    }

    /** Called instead of Logger.error by a script before a sample. */
    public static void before(Object logger, String text, Object name, Object error) {
        count(logger, text, name, error, false);
    }

    /** Called instead of Logger.error by a script after a sample. */
    public static void after(Object logger, String text, Object name, Object error) {
        count(logger, text, name, error, true);
    }

    private static void count(Object logger, String text, Object name, Object error, boolean isAfter) {
        try {
            Access.LOG.invoke(logger, text, name, error);
            GroupCounts.Group group = WarmUp.isOn() ? null : Users.group();
            Object context = group == null ? null : Access.CURRENT.invoke();
            Object sampler = context == null ? null : Access.SAMPLER.invoke(context);
            Object result = sampler == null || !isAfter ? null : Access.RESULT.invoke(context);
            if (sampler != null && (result == null || (boolean) Access.IS_SUCCESSFUL.invoke(result))) {
                group.count("script failed", (String) Access.NAME.invoke(sampler));
            }
        } catch (Throwable failure) {
            // JMeter's thread goes on.
        }
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        static final MethodHandle LOG = Handles.of(LOGGER, "error", String.class, Object.class, Object.class);
        static final MethodHandle CURRENT = Handles.of(CONTEXT + "Service", "getContext");
        static final MethodHandle SAMPLER = Handles.of(CONTEXT, "getCurrentSampler");
        static final MethodHandle RESULT = Handles.of(CONTEXT, "getPreviousResult");
        static final MethodHandle IS_SUCCESSFUL = Handles.of("org.apache.jmeter.samplers.SampleResult", "isSuccessful");
        static final MethodHandle NAME = Handles.of("org.apache.jmeter.testelement.TestElement", "getName");
    }
}
