import java.lang.StackWalker.Option;
import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;

/**
 * Counts scripts and functions of the plan that fail: JMeter only logs that, and goes on as if they had returned nothing.
 *
 * A function of a controller's condition counts there, all others for the sampler that they prepare or follow. A script after
 * an answer counts where the answer is a success: of a failure nothing else is expected. Assertions are none of them, as their
 * sample fails.
 */
public final class FailedScripts {
    private static final String LOGGER = "org/slf4j/Logger";
    private static final String CONTEXT = "org.apache.jmeter.threads.JMeterContext";
    private static final String OBJECT = "Ljava/lang/Object;";
    private static final String TEXT = "Ljava/lang/String;";
    private static final String ERROR = "Ljava/lang/Throwable;";
    private static final String JEXL = "org/apache/commons/jexl3/internal/Interpreter";
    private static final String JEXL_ASKS = "org/apache/commons/logging/Log isWarnEnabled ()Z";

    /** Where a failure is logged: class, method, and the logger's method and parameters. */
    private static final String[][] PLACES = {
        {"modifiers/JSR223PreProcessor", "process", "error", TEXT + OBJECT + OBJECT},
        {"modifiers/BeanShellPreProcessor", "process", "warn", TEXT + OBJECT},
        {"modifiers/BSFPreProcessor", "process", "warn", TEXT + OBJECT},
        {"timers/JSR223Timer", "delay", "error", TEXT + OBJECT + OBJECT},
        {"timers/BeanShellTimer", "delay", "warn", TEXT + OBJECT},
        {"timers/BSFTimer", "delay", "warn", TEXT + OBJECT},
        {"extractor/JSR223PostProcessor", "process", "error", TEXT + OBJECT + OBJECT},
        {"extractor/BeanShellPostProcessor", "process", "warn", TEXT + OBJECT},
        {"extractor/BSFPostProcessor", "process", "warn", TEXT + OBJECT},
        {"visualizers/JSR223Listener", "sampleOccurred", "error", TEXT + OBJECT + OBJECT},
        {"visualizers/BeanShellListener", "sampleOccurred", "warn", TEXT + OBJECT},
        {"visualizers/BSFListener", "sampleOccurred", "warn", TEXT + OBJECT},
        {"functions/Jexl3Function", "execute", "error", TEXT + OBJECT + OBJECT},
        {"functions/Jexl2Function", "execute", "error", TEXT + ERROR},
        {"functions/Groovy", "execute", "warn", TEXT + ERROR},
        {"functions/BeanShell", "execute", "warn", TEXT + ERROR},
        {"functions/JavaScript", "executeWithNashorn", "error", TEXT + OBJECT + OBJECT},
        {"functions/JavaScript", "executeWithRhino", "error", TEXT + OBJECT + OBJECT},
    };

    private FailedScripts() {}

    /** Patches where a failure is logged. */
    static void install(Instrumentation instrumentation) {
        String consequence = "scripts that fail are not counted: this JMeter cannot be patched: ";
        for (String[] one : PLACES) {
            String call = LOGGER + " " + one[2] + " (" + one[3] + ")V";
            new CallPatch(one[1], call, "FailedScripts", one[2], "(" + OBJECT + one[3] + ")V")
                    .install(instrumentation, "org/apache/jmeter/" + one[0], consequence + one[0]);
        }
        // What an expression does wrong, as with a variable that is not defined, JEXL logs itself.
        new CallPatch("interpret", JEXL_ASKS, "FailedScripts", "isWarned", "(" + OBJECT + ")Z")
                .install(instrumentation, JEXL, consequence + JEXL_ASKS);
    }

    /** Called instead of Logger.error. */
    public static void error(Object logger, String text, Object name, Object error) throws Throwable {
        Access.ERROR_OF.invoke(logger, text, name, error);
        failed();
    }

    /** Called instead of Logger.error. */
    public static void error(Object logger, String text, Throwable error) throws Throwable {
        Access.ERROR.invoke(logger, text, error);
        failed();
    }

    /** Called instead of Logger.warn. */
    public static void warn(Object logger, String text, Object error) throws Throwable {
        Access.WARN_OF.invoke(logger, text, error);
        failed();
    }

    /** Called instead of Logger.warn. */
    public static void warn(Object logger, String text, Throwable error) throws Throwable {
        Access.WARN.invoke(logger, text, error);
        failed();
    }

    /** Called instead of Log.isWarnEnabled. */
    public static boolean isWarned(Object logger) throws Throwable {
        failed();
        return (boolean) Access.IS_WARNED.invoke(logger);
    }

    private static void failed() {
        try {
            GroupCounts.Group group = WarmUp.isOn() ? null : Users.group();
            if (group == null || Conditions.fails()) {
                return;
            }
            Object context = Access.CURRENT.invoke();
            Object sampler = Access.SAMPLER.invoke(context);
            Object result = sampler == null || !isAfter() ? null : Access.RESULT.invoke(context);
            if (sampler != null && (result == null || (boolean) Access.IS_SUCCESSFUL.invoke(result))) {
                group.count("script failed", (String) Access.NAME.invoke(sampler));
            }
        } catch (Throwable failure) {
            // JMeter's thread goes on.
        }
    }

    /** Returns whether the script that failed runs after a sample. */
    private static boolean isAfter() {
        String script = StackWalker.getInstance(Option.RETAIN_CLASS_REFERENCE)
                .walk(frames -> frames.skip(3).findFirst().orElseThrow().getDeclaringClass().getSimpleName());
        return script.endsWith("PostProcessor") || script.endsWith("Listener");
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        static final MethodHandle ERROR_OF = Handles.of(LOGGER, "error", String.class, Object.class, Object.class);
        static final MethodHandle ERROR = Handles.of(LOGGER, "error", String.class, Throwable.class);
        static final MethodHandle WARN_OF = Handles.of(LOGGER, "warn", String.class, Object.class);
        static final MethodHandle WARN = Handles.of(LOGGER, "warn", String.class, Throwable.class);
        static final MethodHandle IS_WARNED = Handles.of("org/apache/commons/logging/Log", "isWarnEnabled");
        static final MethodHandle CURRENT = Handles.of(CONTEXT + "Service", "getContext");
        static final MethodHandle SAMPLER = Handles.of(CONTEXT, "getCurrentSampler");
        static final MethodHandle RESULT = Handles.of(CONTEXT, "getPreviousResult");
        static final MethodHandle IS_SUCCESSFUL = Handles.of("org.apache.jmeter.samplers.SampleResult", "isSuccessful");
        static final MethodHandle NAME = Handles.of("org.apache.jmeter.testelement.TestElement", "getName");
    }
}
