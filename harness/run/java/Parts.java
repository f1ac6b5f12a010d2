import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;

/**
 * The threads in which a Parallel Controller sends what one user sends at the same time: they are no users.
 *
 * While they are there, the user waits for the slowest. By how much the times of their samples exceed that is counted.
 */
final class Parts {
    private static final String THREAD = "com.blazemeter.jmeter.controller.JMeterThreadParallel";
    private static final String PREFIX = "parallel ";

    private int active;
    private long beganNs;
    private long tookMs;

    static boolean isPart(Object thread) {
        return thread.getClass().getName().equals(THREAD);
    }

    /** Returns the thread of the user. */
    static Object whole(Object part) {
        return Access.WHOLE.get(part);
    }

    /** Returns the name of the controller whose thread this is. */
    static String name() {
        String name = Thread.currentThread().getName();
        return name.startsWith(PREFIX) ? name.substring(PREFIX.length()) : name;
    }

    synchronized void begins() {
        if (active++ == 0) {
            beganNs = System.nanoTime();
        }
    }

    /**
     * Returns how many ms the samples of all threads took longer together than the user waited; 0 but for the last one. The
     * row of a parent sample has the time that the user waited, so that the rows of its parts are all beyond it.
     */
    synchronized long ends(Object part, long ms) {
        tookMs += ms;
        if (--active > 0) {
            return 0;
        }
        boolean isParent = (boolean) Access.IS_PARENT.get(part);
        long moreMs = isParent ? tookMs : tookMs - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beganNs);
        tookMs = 0;
        return Math.max(0, moreMs);
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        static final VarHandle WHOLE;
        static final VarHandle IS_PARENT;

        static {
            try {
                Class<?> part = Handles.type(THREAD);
                MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(part, MethodHandles.lookup());
                WHOLE = lookup.findVarHandle(part, "parentThread", part.getSuperclass()).withInvokeBehavior();
                IS_PARENT = lookup.findVarHandle(part, "generateParent", boolean.class).withInvokeBehavior();
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
