import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;

/**
 * Leaves the threads of jobs out of JMeter's number of active threads, which each row has: they are no users of the load.
 *
 * Without it, the users of a run with jobs would be more than the requested ones, and Little's law would miss the jobs.
 */
public final class JobThreads {
    private static final String THREAD = "org/apache/jmeter/threads/JMeterThread";
    /** JOB_MARK in harness/jtl/sample.py. */
    private static final String MARK = "[[job]]";

    private JobThreads() {}

    /** Patches JMeter's threads when they are loaded. */
    static void install(Instrumentation instrumentation) {
        String consequence = "the threads of jobs count as users: JMeter's threads cannot be patched";
        new MethodPatch("threadStarted", MethodPatch.THIS, false, "JobThreads", "started", "Ljava/lang/Object;")
                .install(instrumentation, THREAD, consequence);
        new MethodPatch("threadFinished", MethodPatch.THIS, false, "JobThreads", "finished", "Ljava/lang/Object;")
                .install(instrumentation, THREAD, consequence);
    }

    /** Called by the patched method before it counts a thread. */
    public static void started(Object thread) {
        count(thread, "decrNumberOfThreads");
    }

    /** Called by the patched method before it no longer counts a thread. */
    public static void finished(Object thread) {
        count(thread, "incrNumberOfThreads");
    }

    private static void count(Object thread, String method) {
        if (!Thread.currentThread().getName().contains(MARK)) {
            return;
        }
        try {
            ClassLoader loader = thread.getClass().getClassLoader();
            Method change = loader.loadClass("org.apache.jmeter.threads.JMeterContextService").getDeclaredMethod(method);
            change.setAccessible(true);
            change.invoke(null);
        } catch (ReflectiveOperationException | RuntimeException error) {
            System.err.println("the threads of jobs count as users: " + error);
        }
    }
}
