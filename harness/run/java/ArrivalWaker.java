import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Wakes a user of an Arrivals Thread Group who missed an arrival, every {@link #PERIOD_MS}.
 *
 * The group (jmeter-plugins-casutg 2.10) lists a user among those who wait before that user waits. One who is notified in
 * between waits for ever, the arrival is lost, and the group does not end, because it waits for as many arrivals as it
 * has made. So does one who begins to wait when the group has just ended.
 */
final class ArrivalWaker {
    private static final long PERIOD_MS = 10;
    private static final String POOL = "poolThreads";
    private static final Map<Object, Waiting> WAITING = new ConcurrentHashMap<>();
    private static boolean isOn;

    private ArrivalWaker() {}

    /** A user who waits, with those of whom the group knows that, and whether the group has ended. */
    private record Waiting(Object group, Thread thread, Set<?> known, Method isEnded) {}

    /** Called by a user of a group who begins to wait. */
    static void waits(Object user, Object group) throws ReflectiveOperationException {
        Field pool = field(group.getClass());
        pool.setAccessible(true);
        Method isEnded = group.getClass().getMethod("isLimitReached");
        WAITING.put(user, new Waiting(group, Thread.currentThread(), (Set<?>) pool.get(group), isEnded));
        start();
    }

    /** Called by a user who goes on, or ends. */
    static void goesOn(Object user) {
        WAITING.remove(user);
    }

    private static Field field(Class<?> type) throws NoSuchFieldException {
        try {
            return type.getDeclaredField(POOL);
        } catch (NoSuchFieldException error) {
            if (type.getSuperclass() == null) {
                throw error;
            }
            return field(type.getSuperclass());
        }
    }

    private static synchronized void start() {
        if (!isOn) {
            isOn = true;
            Ticker.every(PERIOD_MS, "wakes users for arrivals", ArrivalWaker::wake);
        }
    }

    private static void wake() throws ReflectiveOperationException {
        for (Map.Entry<Object, Waiting> one : WAITING.entrySet()) {
            wakeIfMissed(one.getKey(), one.getValue());
        }
    }

    private static void wakeIfMissed(Object user, Waiting waiting) throws ReflectiveOperationException {
        boolean isMissed = !waiting.known.contains(user) || (boolean) waiting.isEnded.invoke(waiting.group);
        if (isMissed && waiting.thread.getState() == Thread.State.WAITING) {
            synchronized (user) {
                user.notify();
            }
        }
    }
}
