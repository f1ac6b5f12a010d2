import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Counts by throughput timer how many samples it let through, and how many its rate asks for in this time.
 *
 * It begins when all users of a thread group are there. A sample counts at the time up to which the timer has it wait: so
 * both numbers are the same whenever the load ends, unless users come too late for the rate. A rate is that of one user, that
 * of all users by equal shares, or that of a schedule that users share.
 */
final class PacedTimers {
    private static final String PACKAGE = "org.apache.jmeter.timers.";
    private static final String CONSTANT = PACKAGE + "ConstantThroughputTimer";
    private static final String PRECISE = PACKAGE + "poissonarrivals.PreciseThroughputTimer";
    /** Of a plugin: it waits by itself, and its rate changes each second. */
    private static final String SHAPING = "kg.apc.jmeter.timers.VariableThroughputTimer";

    private static final double S_PER_MINUTE = 60;
    /** The modes of a Constant Throughput Timer: org.apache.jmeter.timers.ConstantThroughputTimer.Mode. */
    private static final int ALL_USERS = 1;

    private static final int USERS_OF_GROUP = 2;
    private static final int ALL_SHARE = 3;
    private static final int GROUP_SHARES = 4;
    private static final Set<String> KINDS = Set.of(CONSTANT, PRECISE, SHAPING);

    /** The name of a class that is a throughput timer; empty for others. */
    private static final ClassValue<String> KIND = new ClassValue<>() {
        @Override
        protected String computeValue(Class<?> type) {
            return KINDS.contains(type.getName()) ? type.getName() : "";
        }
    };
    private static final Map<List<Object>, Pace> SHARED = new ConcurrentHashMap<>();
    /** Each user has timers of their own. */
    private static final ThreadLocal<Map<Object, Pace>> OWN = ThreadLocal.withInitial(IdentityHashMap::new);

    private PacedTimers() {}

    /** The samples of a schedule: those that it asks for up to the latest one, and how many of them are counted. */
    private static final class Pace {
        private long latestNs;
        private double due;
        private long countedDue;

        /** Returns how many samples more are due with one at a time; -1 with the first one. */
        synchronized long next(long atNs, double perS) {
            if (latestNs == 0) {
                latestNs = atNs;
                return -1;
            }
            due += perS * Math.max(0, atNs - latestNs) / TimeUnit.SECONDS.toNanos(1);
            latestNs = Math.max(latestNs, atNs);
            long more = (long) due - countedDue;
            countedDue += more;
            return more;
        }
    }

    /** Called with each timer and how long (ms) it has its user wait. */
    static void delays(Object timer, long delayMs) {
        String kind = KIND.get(timer.getClass());
        if (kind.isEmpty()) {
            return;
        }
        GroupCounts.Group group = Users.group();
        try {
            if (group == null || !group.isFull()) {
                return;
            }
            int mode = kind.equals(CONSTANT) ? (int) OfConstant.MODE.invoke(timer) : GROUP_SHARES;
            double perS = perS(kind, timer, mode);
            String name = (String) OfConstant.NAME.invoke(timer);
            Pace pace = mode < ALL_SHARE
                    ? OWN.get().computeIfAbsent(timer, unused -> new Pace())
                    : SHARED.computeIfAbsent(List.of(mode == ALL_SHARE ? "" : group, name), unused -> new Pace());
            long more = pace.next(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(delayMs), perS);
            if (more >= 0) {
                group.count("paced", name);
                group.count("due", name, more);
            }
        } catch (Throwable error) {
            // JMeter's thread goes on.
        }
    }

    private static double perS(String kind, Object timer, int mode) throws Throwable {
        if (kind.equals(SHAPING)) {
            return Math.max(0, (double) OfShaping.RATE.get(timer));
        }
        return kind.equals(PRECISE)
                ? (double) OfPrecise.RATE.invoke(timer) / Math.max(1, (int) OfPrecise.PERIOD.invoke(timer))
                : (double) OfConstant.RATE.invoke(timer) / S_PER_MINUTE / users(mode);
    }

    /** Returns how many users share a rate. */
    private static int users(int mode) throws Throwable {
        if (mode != ALL_USERS && mode != USERS_OF_GROUP) {
            return 1;
        }
        int count = mode == ALL_USERS
                ? (int) OfConstant.USERS.invoke()
                : (int) OfConstant.OF_GROUP.invoke(OfConstant.GROUP.invoke(OfConstant.CONTEXT.invoke()));
        return Math.max(1, count);
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class OfConstant {
        private static final String THREADS = "org.apache.jmeter.threads.";
        static final MethodHandle NAME = Handles.of("org.apache.jmeter.testelement.TestElement", "getName");
        static final MethodHandle CONTEXT = Handles.of(THREADS + "JMeterContextService", "getContext");
        static final MethodHandle USERS = Handles.of(THREADS + "JMeterContextService", "getNumberOfThreads");
        static final MethodHandle GROUP = Handles.of(THREADS + "JMeterContext", "getThreadGroup");
        static final MethodHandle OF_GROUP = Handles.of(THREADS + "AbstractThreadGroup", "getNumberOfThreads");
        static final MethodHandle RATE = Handles.of(CONSTANT, "getThroughput");
        static final MethodHandle MODE = Handles.of(CONSTANT, "getCalcMode");
    }

    /** The rate of this second. */
    private static final class OfShaping {
        static final VarHandle RATE;

        static {
            try {
                Class<?> timer = Handles.type(SHAPING);
                RATE = MethodHandles.privateLookupIn(timer, MethodHandles.lookup())
                        .findVarHandle(timer, "rps", double.class)
                        .withInvokeBehavior();
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    /** The same of the other timer. */
    private static final class OfPrecise {
        static final MethodHandle RATE = Handles.of(PRECISE, "getThroughput");
        static final MethodHandle PERIOD = Handles.of(PRECISE, "getThroughputPeriod");
    }
}
