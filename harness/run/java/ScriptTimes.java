import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.TimeUnit;

/**
 * Counts how long users are in scripts before and after a sample: one that sleeps is a pause of its user, as in a timer.
 *
 * Of all others the time is counted in ms by the name of the script: it computes, or asks a system by itself. What adds a
 * sub-result to a sample that is done moves the end of the sample: by how many ms is counted by its label.
 */
public final class ScriptTimes {
    private static final ClassValue<Boolean> IS_SCRIPT = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return type.getSimpleName().matches("(JSR223|BeanShell|BSF)(Pre|Post)Processor");
        }
    };
    private static final long LEAST_NS = 1_000_000L;
    private static final String OBJECT = "Ljava/lang/Object;";
    private ScriptTimes() {}

    /** A script. */
    private interface Script {
        Object run() throws Throwable;
    }

    /** Patches where what is before a sample runs; post-processors run by {@link Extractions}. */
    static void install(Instrumentation instrumentation) {
        String consequence = "the time of scripts is not counted: this JMeter cannot be patched: ";
        String process = "org/apache/jmeter/processor/PreProcessor process ()V";
        new CallPatch("runPreProcessors", process, "ScriptTimes", "process", "(" + OBJECT + ")V")
                .install(instrumentation, "org/apache/jmeter/threads/JMeterThread", consequence + process);
    }

    /** Called instead of PreProcessor.process. */
    public static void process(Object processor) throws Throwable {
        run(processor, Access.PROCESS);
    }

    /** Runs a processor after a sample, and counts its time, and by how much it moves the end of the sample. */
    static void after(Object processor, MethodHandle process) throws Throwable {
        Object result = WarmUp.isOn() ? null : Access.RESULT.invoke(Access.CONTEXT.invoke());
        long tookMs = result == null ? 0 : (long) Access.TIME.invoke(result);
        run(processor, process);
        long moreMs = result == null ? 0 : (long) Access.TIME.invoke(result) - tookMs;
        GroupCounts.Group group = moreMs > 0 ? Users.group() : null;
        if (group != null) {
            group.count("late", (String) Access.LABEL.invoke(result), moreMs);
        }
    }

    private static void run(Object processor, MethodHandle process) throws Throwable {
        if (!IS_SCRIPT.get(processor.getClass())) {
            process.invoke(processor);
            return;
        }
        timed(processor, () -> {
            process.invoke(processor);
            return null;
        });
    }

    /** Runs a script, and counts its time. */
    private static Object timed(Object element, Script script) throws Throwable {
        GroupCounts.Group group = WarmUp.isOn() ? null : Users.group();
        if (group == null) {
            return script.run();
        }
        long sleeps = Own.sleeps();
        long cpuNs = Own.cpuNs();
        long beganNs = System.nanoTime();
        try {
            return script.run();
        } finally {
            long endNs = System.nanoTime();
            if (endNs - beganNs >= LEAST_NS) {
                boolean hasSlept = Own.sleeps() > sleeps && 2 * (Own.cpuNs() - cpuNs) < endNs - beganNs;
                count(group, element, beganNs, endNs, hasSlept);
            }
        }
    }

    private static void count(GroupCounts.Group group, Object element, long beganNs, long endNs, boolean hasSlept) {
        try {
            if (hasSlept) {
                Users.pausedItself(beganNs, endNs);
            } else {
                group.count("in scripts", (String) Access.NAME.invoke(element), TimeUnit.NANOSECONDS.toMillis(endNs - beganNs));
            }
        } catch (Throwable error) {
            // JMeter's thread goes on.
        }
    }

    /** What the JVM knows of this thread: how often it slept or waited for another one, and its CPU time. */
    private static final class Own {
        private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

        static long sleeps() {
            return THREADS.getThreadInfo(Thread.currentThread().getId()).getWaitedCount();
        }

        static long cpuNs() {
            return THREADS.getCurrentThreadCpuTime();
        }
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        static final MethodHandle PROCESS = Handles.of("org/apache/jmeter/processor/PreProcessor", "process");
        static final MethodHandle NAME = Handles.of("org.apache.jmeter.testelement.TestElement", "getName");
        static final MethodHandle CONTEXT = Handles.of("org.apache.jmeter.threads.JMeterContextService", "getContext");
        static final MethodHandle RESULT = Handles.of("org.apache.jmeter.threads.JMeterContext", "getPreviousResult");
        static final MethodHandle TIME = Handles.of("org.apache.jmeter.samplers.SampleResult", "getTime");
        static final MethodHandle LABEL = Handles.of("org.apache.jmeter.samplers.SampleResult", "getSampleLabel");
    }
}
