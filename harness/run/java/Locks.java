import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** Counts how long users wait for each other at a Critical Section Controller, in ms by its name. */
public final class Locks {
    private static final String CONTROLLER = "org/apache/jmeter/control/CriticalSectionController";
    private static final String OBJECT = "Ljava/lang/Object;";
    private static final String TEXT = "Ljava/lang/String;";
    /** The controller that a thread is at. */
    private static final ThreadLocal<Object> CURRENT = new ThreadLocal<>();

    private Locks() {}

    /** Patches where a user enters such a section. */
    static void install(Instrumentation instrumentation) {
        String[][] calls = {
            {CONTROLLER + " getLockName ()" + TEXT, "nameOf", "(" + OBJECT + ")" + TEXT},
            {"java/util/concurrent/locks/ReentrantLock lock ()V", "lock", "(" + OBJECT + ")V"},
        };
        for (String[] one : calls) {
            new CallPatch("next", one[0], "Locks", one[1], one[2])
                    .install(instrumentation, CONTROLLER, "waiting for each other is not counted: this JMeter cannot be patched: " + one[0]);
        }
    }

    /** Called instead of CriticalSectionController.getLockName. */
    public static String nameOf(Object controller) throws Throwable {
        CURRENT.set(controller);
        return (String) Access.LOCK_NAME.invoke(controller);
    }

    /** Called instead of ReentrantLock.lock. */
    public static void lock(Object lock) {
        ReentrantLock known = (ReentrantLock) lock;
        if (known.tryLock()) {
            return;
        }
        long beganNs = System.nanoTime();
        known.lock();
        try {
            GroupCounts.Group group = WarmUp.isOn() ? null : Users.group();
            long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beganNs);
            if (group != null && tookMs > 0) {
                group.count("locked", (String) Access.NAME.invoke(CURRENT.get()), tookMs);
            }
        } catch (Throwable failure) {
            // JMeter's thread goes on.
        }
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        static final MethodHandle LOCK_NAME = Handles.of(CONTROLLER, "getLockName");
        static final MethodHandle NAME = Handles.of("org.apache.jmeter.testelement.TestElement", "getName");
    }
}
