import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;

/**
 * Leaves the threads of jobs out of JMeter's number of active threads, which each row has: they are no users of the load.
 *
 * Without it, the users of a run with jobs would be more than the requested ones, and Little's law would miss the jobs.
 */
public final class JobThreads {
    private static final String THREAD = "org/apache/jmeter/threads/JMeterThread";
    private static final String GROUP = "org/apache/jmeter/threads/ThreadGroup";
    /** JOB_MARK in harness/jtl/sample.py. */
    private static final String MARK = "[[job]]";

    private JobThreads() {}

    /** Patches JMeter's threads and thread groups when they are loaded. */
    static void install(Instrumentation instrumentation) {
        String consequence = "the threads of jobs count as users: JMeter's threads cannot be patched";
        new MethodPatch("threadStarted", MethodPatch.THIS, false, "JobThreads", "started", "Ljava/lang/Object;")
                .install(instrumentation, THREAD, consequence);
        new MethodPatch("threadFinished", MethodPatch.THIS, false, "JobThreads", "finished", "Ljava/lang/Object;")
                .install(instrumentation, GROUP, consequence);
    }

    /** Called before JMeter counts a thread: for a moment there is one user less, which no greatest number shows. */
    public static void started(Object thread) {
        change(thread, "decrNumberOfThreads");
    }

    /** Called by the thread when JMeter does not count it any more. */
    public static void finished(Object group) {
        change(group, "incrNumberOfThreads");
    }

    private static void change(Object ofJMeter, String method) {
        if (!Thread.currentThread().getName().contains(MARK)) {
            return;
        }
        try {
            ClassLoader loader = ofJMeter.getClass().getClassLoader();
            Method counts = loader.loadClass("org.apache.jmeter.threads.JMeterContextService").getDeclaredMethod(method);
            counts.setAccessible(true);
            counts.invoke(null);
        } catch (ReflectiveOperationException | RuntimeException error) {
            System.err.println("the threads of jobs count as users: " + error);
        }
    }
}
