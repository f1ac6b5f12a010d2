import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
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
    /** Scripts, and processors of plugins: one may wait for another user, as for an item of a queue. */
    private static final ClassValue<Boolean> IS_SCRIPT = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            boolean isOfPlugin = !type.getName().startsWith("org.apache.jmeter.");
            return isOfPlugin || type.getSimpleName().matches("(JSR223|BeanShell|BSF)(Pre|Post)Processor");
        }
    };
    private static final long LEAST_NS = 1_000_000L;
    private static final String OBJECT = "Ljava/lang/Object;";
    /** How the script of an assertion or a listener is called: by kind, its parameters, and as which they are passed. */
    private static final String[][] CALLS = {
        {"JSR223", "Ljavax/script/ScriptEngine;Ljavax/script/Bindings;", OBJECT + OBJECT},
        {"BeanShell", "Lorg/apache/jmeter/util/BeanShellInterpreter;", OBJECT},
    };

    private ScriptTimes() {}

    /** A script. */
    private interface Script {
        Object run() throws Throwable;
    }

    /** Patches where scripts before a sample, of assertions and of listeners run; post-processors run by {@link Extractions}. */
    static void install(Instrumentation instrumentation) {
        String consequence = "the time of scripts is not counted: this JMeter cannot be patched: ";
        String process = "org/apache/jmeter/processor/PreProcessor process ()V";
        new CallPatch("runPreProcessors", process, "ScriptTimes", "process", "(" + OBJECT + ")V")
                .install(instrumentation, "org/apache/jmeter/threads/JMeterThread", consequence + process);
        for (String[] one : CALLS) {
            installIn("org/apache/jmeter/assertions/" + one[0] + "Assertion", "getResult", one, instrumentation, consequence);
            installIn("org/apache/jmeter/visualizers/" + one[0] + "Listener", "sampleOccurred", one, instrumentation, consequence);
        }
    }

    private static void installIn(
            String owner, String method, String[] call, Instrumentation instrumentation, String consequence) {
        String replaced = owner + " processFileOrScript (" + call[1] + ")" + OBJECT;
        new CallPatch(method, replaced, "ScriptTimes", "script", "(" + OBJECT + call[2] + ")" + OBJECT)
                .install(instrumentation, owner, consequence + replaced);
    }

    /** Called instead of PreProcessor.process. */
    public static void process(Object processor) throws Throwable {
        run(processor, Access.PROCESS);
    }

    /** Called instead of JSR223TestElement.processFileOrScript. */
    public static Object script(Object element, Object engine, Object bindings) throws Throwable {
        return timed(element, () -> (Object) OfJsr223.SCRIPT.invoke(element, engine, bindings));
    }

    /** Called instead of BeanShellTestElement.processFileOrScript. */
    public static Object script(Object element, Object interpreter) throws Throwable {
        return timed(element, () -> (Object) OfBeanShell.SCRIPT.invoke(element, interpreter));
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

    /** The method of scripts in a language of Java's. */
    private static final class OfJsr223 {
        static final MethodHandle SCRIPT = ownMethod("JSR223TestElement", "javax.script.ScriptEngine", "javax.script.Bindings");
    }

    /** The same of BeanShell. */
    private static final class OfBeanShell {
        static final MethodHandle SCRIPT = ownMethod("BeanShellTestElement", "org.apache.jmeter.util.BeanShellInterpreter");
    }

    private static MethodHandle ownMethod(String type, String... parameters) {
        try {
            Class<?> owner = Handles.type("org.apache.jmeter.util." + type);
            Class<?>[] types = new Class<?>[parameters.length];
            for (int at = 0; at < types.length; at++) {
                types[at] = Handles.type(parameters[at]);
            }
            MethodHandle found = MethodHandles.privateLookupIn(owner, MethodHandles.lookup())
                    .findVirtual(owner, "processFileOrScript", MethodType.methodType(Object.class, types));
            return found.asType(MethodType.genericMethodType(1 + types.length));
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }
}
