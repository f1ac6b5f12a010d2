import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.TimeUnit;

/**
 * Counts how long users are in scripts before and after a sample: one that sleeps is a pause of its user, as in a timer.
 *
 * Of all others the time is counted in ms by the name of the script: it computes, or asks a system by itself.
 */
public final class ScriptTimes {
    private static final ClassValue<Boolean> IS_SCRIPT = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return type.getSimpleName().matches("(JSR223|BeanShell|BSF)(Pre|Post)Processor");
        }
    };
    private static final long LEAST_NS = 1_000_000L;

    private ScriptTimes() {}

    /** Patches where what is before a sample runs; what is after it runs by {@link Extractions}. */
    static void install(Instrumentation instrumentation) {
        String process = "org/apache/jmeter/processor/PreProcessor process ()V";
        new CallPatch("runPreProcessors", process, "ScriptTimes", "process", "(Ljava/lang/Object;)V")
                .install(instrumentation, "org/apache/jmeter/threads/JMeterThread",
                        "the time of scripts is not counted: this JMeter cannot be patched: " + process);
    }

    /** Called instead of PreProcessor.process. */
    public static void process(Object processor) throws Throwable {
        run(processor, Access.PROCESS);
    }

    /** Runs a processor, and counts its time. */
    static void run(Object processor, MethodHandle process) throws Throwable {
        GroupCounts.Group group = IS_SCRIPT.get(processor.getClass()) && !WarmUp.isOn() ? Users.group() : null;
        if (group == null) {
            process.invoke(processor);
            return;
        }
        long sleeps = Own.sleeps();
        long cpuNs = Own.cpuNs();
        long beganNs = System.nanoTime();
        try {
            process.invoke(processor);
        } finally {
            long endNs = System.nanoTime();
            if (endNs - beganNs >= LEAST_NS) {
                boolean hasSlept = Own.sleeps() > sleeps && 2 * (Own.cpuNs() - cpuNs) < endNs - beganNs;
                count(group, processor, beganNs, endNs, hasSlept);
            }
        }
    }

    private static void count(GroupCounts.Group group, Object processor, long beganNs, long endNs, boolean hasSlept) {
        try {
            if (hasSlept) {
                Users.pausedItself(beganNs, endNs);
            } else {
                group.count("in scripts", (String) Access.NAME.invoke(processor), TimeUnit.NANOSECONDS.toMillis(endNs - beganNs));
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
    }
}
