import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Follows the users of JMeter: when they begin and end, and why, what they pause, and what the end of the load cuts.
 *
 * JMeter's thread calls the methods here; {@link GroupCounts} counts by thread group. A sleep counts for as long as it was
 * asked for: what it takes longer is the generator's time, not the user's. A timer that waits by itself, as a Synchronizing
 * Timer, counts for as long as it waits.
 */
public final class Users {
    private static final String THREAD = "org/apache/jmeter/threads/JMeterThread";
    private static final String ACTION = "org/apache/jmeter/sampler/TestAction";
    private static final String ARRIVALS = "com/blazemeter/jmeter/threads/arrivals/ArrivalsThreadGroup";
    private static final String STOP = "org/apache/jorphan/util/JMeterStopThreadException";
    private static final String OBJECT = "Ljava/lang/Object;";
    private static final String SLEEP = "java/util/concurrent/TimeUnit sleep (J)V";
    private static final String DELAY = "org/apache/jmeter/timers/Timer delay ()J";
    /** How the message of an exception begins that a CSV Data Set Config throws when its file has no more rows. */
    private static final String NO_DATA = "End of file";
    private static final long LEAST_NS = 1_000_000L;
    private static final long IDLE_LEAST_MS = 10_000L;
    private static final Map<Object, User> USERS = new ConcurrentHashMap<>();
    private static final ThreadLocal<User> CURRENT = new ThreadLocal<>();
    private static volatile boolean isClosing;
    private static volatile boolean hasParts;
    private static volatile Class<?> threadClass;

    private Users() {}

    /** A thread of JMeter. */
    private static final class User {
        final Object thread;
        final GroupCounts.Group group;
        /** A thread of an Arrivals Thread Group that waits for the next arrival. */
        boolean isAway;
        boolean isCut;
        volatile boolean isTold;
        volatile boolean isClosed;
        /** Why it ends, by the last that asked for it. */
        String end;
        String detail = "";
        String asked;
        final long beganMs = GroupCounts.nowMs();
        /** The user of whom this is a thread, and how long its samples took; null for a user. */
        User whole;
        long tookMs;
        final Parts parts = new Parts();
        /** How long it has paused since its last sample, the longest such time, and the step that it was at. */
        volatile long stillMs;
        long longestMs;
        String longestAt = "";

        User(Object thread, GroupCounts.Group group) {
            this.thread = thread;
            this.group = group;
        }
    }

    /** Patches JMeter's threads, and what pauses or stops them, when they are loaded. */
    static void install(Instrumentation instrumentation) {
        String consequence = "what the users do is not counted: this JMeter cannot be patched: ";
        String[][] patches = {
            {THREAD, "threadStarted", MethodPatch.THIS, "started"},
            {THREAD, "threadFinished", MethodPatch.THIS, "finished"},
            {THREAD, "stop", MethodPatch.THIS, "told"},
            {THREAD, "interrupt", MethodPatch.THIS, "closed"},
            {THREAD, "stopThread", MethodPatch.THIS, "stops"},
            {THREAD, "shutdownTest", MethodPatch.THIS, "stopsTest"},
            {THREAD, "stopTestNow", MethodPatch.THIS, "stopsTest"},
            {THREAD, "doEndTransactionSampler", "Lorg/apache/jmeter/control/TransactionSampler;", "transaction"},
            {THREAD, "notifyListeners", "Lorg/apache/jmeter/samplers/SampleResult;", "sampled"},
            {ARRIVALS, "arrivalFact", MethodPatch.THIS, "arrived"},
            {ARRIVALS, "movedToPool", MethodPatch.THIS, "waits"},
        };
        for (String[] one : patches) {
            new MethodPatch(one[1], one[2], false, "Users", one[3], OBJECT)
                    .install(instrumentation, one[0], consequence + one[1]);
        }
        new MethodPatch("<init>", "Ljava/lang/String;", false, "Users", "asked")
                .install(instrumentation, STOP, consequence + STOP);
        String sleep = "(Ljava/util/concurrent/TimeUnit;J)V";
        new CallPatch("delay", DELAY, "Users", "delay", "(" + OBJECT + ")J").install(instrumentation, THREAD, consequence + DELAY);
        new CallPatch("delay", SLEEP, "Users", "sleep", sleep).install(instrumentation, THREAD, consequence + SLEEP);
        new CallPatch("pause", SLEEP, "Users", "sleep", sleep).install(instrumentation, ACTION, consequence + SLEEP);
    }

    /** Called by a thread that begins to send. */
    public static void started(Object thread) {
        if (WarmUp.isOn()) {
            return;
        }
        attempt(() -> {
            threadClass = thread.getClass();
            OfTimer.prepare();
            if (Parts.isPart(thread)) {
                begins(thread, USERS.get(Parts.whole(thread)));
                return;
            }
            User user = new User(thread, GroupCounts.group((Object) Access.GROUP.get(thread)));
            USERS.put(thread, user);
            CURRENT.set(user);
            user.group.begins(GroupCounts.USERS, GroupCounts.nowMs());
            user.group.begun.incrementAndGet();
            if (user.group.isPerArrival) {
                user.group.arrives();
            }
        });
    }

    private static void begins(Object part, User whole) {
        if (whole != null) {
            User user = new User(part, whole.group);
            user.whole = whole;
            USERS.put(part, user);
            CURRENT.set(user);
            hasParts = true;
            whole.parts.begins();
        }
    }

    /** Called by a thread that ends. */
    public static void finished(Object thread) {
        attempt(() -> {
            User user = USERS.remove(thread);
            CURRENT.remove();
            ArrivalWaker.goesOn(thread);
            Amounts.finished();
            Extractions.finished();
            if (user == null) {
                return;
            }
            if (user.whole != null) {
                long moreMs = user.whole.parts.ends(thread, user.tookMs);
                if (moreMs > 0) {
                    user.group.count("together", Parts.name(), moreMs);
                }
                return;
            }
            if (!user.isAway) {
                user.group.ends(GroupCounts.USERS, GroupCounts.nowMs());
            }
            String end = end(user);
            if (end != null) {
                user.group.count(end, user.detail);
            }
            long lastedMs = GroupCounts.nowMs() - user.beganMs;
            if (lastedMs >= IDLE_LEAST_MS && 2 * user.longestMs > lastedMs) {
                user.group.count("idle", user.longestAt);
            }
        });
    }

    /** Returns why a user ends before the end of the load; null when it does not. */
    private static String end(User user) throws Throwable {
        if (user.end != null || user.isTold) {
            return user.end;
        }
        if ((boolean) Access.RUNNING.get(user.thread)) {
            if (user.asked == null) {
                return "died";
            }
            user.detail = user.asked;
            return stopOf(user.asked);
        }
        return user.group.isLoop && (boolean) Access.IS_DONE.invoke((Object) Access.CONTROLLER.get(user.thread)) ? "done" : null;
    }

    private static String stopOf(String message) {
        return message.startsWith(NO_DATA) ? "no data" : "stop";
    }

    /** Called with the message of each exception that stops a thread. */
    public static void asked(String message) {
        User user = CURRENT.get();
        if (user != null) {
            user.asked = message == null ? "" : message;
        }
    }

    /** Called when a thread is told to stop, mostly by another one: the load ends. */
    public static void told(Object thread) {
        User current = CURRENT.get();
        if (current != null && current.thread == thread) {
            attempt(() -> note(current, "stop", name(context("getCurrentSampler"))));
        } else {
            User user = USERS.get(thread);
            if (user != null) {
                if (!user.isTold) {
                    attempt(() -> busy(user));
                }
                user.isTold = true;
            }
        }
    }

    /** Notes the step that a user is in when the load ends. */
    private static void busy(User user) throws Throwable {
        Object sampler = (Object) Access.SAMPLER.get(user.thread);
        if (sampler != null) {
            user.group.count("busy", name(sampler));
        }
    }

    /** Called when a sample, or an exception in one, stops the thread. */
    public static void stops(Object thread) {
        attempt(() -> {
            User user = CURRENT.get();
            if (user == null) {
                return;
            }
            Object result = context("getPreviousResult");
            if (user.asked != null) {
                note(user, stopOf(user.asked), user.asked);
            } else if (result != null && !(boolean) Access.IS_SUCCESSFUL.invoke(result)) {
                note(user, "failed", (String) Access.LABEL.invoke(result));
            } else {
                note(user, "stop", name(context("getCurrentSampler")));
            }
        });
    }

    /** Called when a sample stops the test. */
    public static void stopsTest(Object thread) {
        attempt(() -> {
            User user = CURRENT.get();
            Object result = user == null ? null : context("getPreviousResult");
            if (user != null) {
                note(user, "stop test", result == null ? "" : (String) Access.LABEL.invoke(result));
            }
        });
    }

    private static void note(User user, String end, String detail) {
        if (user.end == null && !user.isTold) {
            user.end = end;
            user.detail = detail;
        }
    }

    /** Called when a thread is interrupted: a sample of it that fails then was closed. */
    public static void closed(Object thread) {
        User user = USERS.get(thread);
        if (user != null) {
            user.isTold = true;
            user.isClosed = true;
            isClosing = true;
        }
    }

    /** Called before JMeter writes a parent transaction: the end of its user cuts one that is not done. */
    public static void transaction(Object sampler) {
        attempt(() -> {
            User user = CURRENT.get();
            if (user != null && !(boolean) Access.IS_TRANSACTION_DONE.invoke(sampler)) {
                user.isCut = true;
                user.group.count("cut", name(sampler));
            }
        });
    }

    /** Called with each result. */
    public static void sampled(Object result) {
        User user = CURRENT.get();
        sends(user);
        if (!isClosing && !hasParts) {
            return;
        }
        attempt(() -> {
            if (user != null && user.whole != null && !(boolean) Access.IS_TRANSACTION.invoke(result)) {
                user.tookMs += (long) Access.TIME.invoke(result);
            }
            if (user == null || !user.isClosed) {
                return;
            }
            if (user.isCut) {
                user.isCut = false;
            } else if (!(boolean) Access.IS_SUCCESSFUL.invoke(result)) {
                user.group.count("closed", (String) Access.LABEL.invoke(result));
            }
        });
    }

    /** Called with each result that the plan hides: its user does not only pause. */
    static void ignored() {
        sends(CURRENT.get());
    }

    private static void sends(User user) {
        if (user != null) {
            (user.whole == null ? user : user.whole).stillMs = 0;
        }
    }

    /** Called by a thread of an Arrivals Thread Group for which there is an arrival. */
    public static void arrived(Object group) {
        User user = CURRENT.get();
        if (user != null) {
            user.group.arrives();
            if (user.isAway) {
                user.isAway = false;
                ArrivalWaker.goesOn(user.thread);
                user.group.begins(GroupCounts.USERS, GroupCounts.nowMs());
            }
        }
    }

    /** Called by one whose arrival is done. */
    public static void waits(Object group) {
        User user = CURRENT.get();
        if (user != null && !user.isAway) {
            user.isAway = true;
            attempt(() -> ArrivalWaker.waits(user.thread, group));
            user.group.ends(GroupCounts.USERS, GroupCounts.nowMs());
        }
    }

    /** Called instead of Timer.delay. */
    public static long delay(Object timer) {
        long delayMs = OfTimer.ANSWERS_AT_ONCE.get(timer.getClass()) ? delayOf(timer) : timedDelayOf(timer);
        PacedTimers.delays(timer, delayMs);
        return delayMs;
    }

    private static long timedDelayOf(Object timer) {
        long beganNs = System.nanoTime();
        try {
            return delayOf(timer);
        } finally {
            long endNs = System.nanoTime();
            if (endNs - beganNs >= LEAST_NS) {
                pausedItself(beganNs, endNs);
            }
        }
    }

    /** Returns the counts of the group of this thread's user; null without one. */
    static GroupCounts.Group group() {
        User user = CURRENT.get();
        return user == null ? null : user.group;
    }

    /** Counts a pause of this thread's user at a timer or script that waits by itself. */
    static void pausedItself(long beganNs, long endNs) {
        pauses(beganNs, endNs);
        longest(CURRENT.get(), TimeUnit.NANOSECONDS.toMillis(endNs - beganNs));
    }

    /** Counts a pause of this thread's user. */
    static void pauses(long beganNs, long endNs) {
        User user = CURRENT.get();
        if (user != null && user.whole == null) {
            user.group.begins(GroupCounts.PAUSES, GroupCounts.msOf(beganNs));
            user.group.ends(GroupCounts.PAUSES, GroupCounts.msOf(endNs));
        }
    }

    private static long delayOf(Object timer) {
        try {
            return (long) OfTimer.DELAY.invokeExact(timer);
        } catch (Throwable error) {
            throw Users.<RuntimeException>any(error);
        }
    }

    /** Called instead of TimeUnit.sleep in a pause. */
    public static void sleep(TimeUnit unit, long length) throws InterruptedException {
        User user = CURRENT.get();
        if (user == null || user.whole != null) {
            unit.sleep(length);
            return;
        }
        long beganMs = GroupCounts.nowMs();
        user.group.begins(GroupCounts.PAUSES, beganMs);
        try {
            unit.sleep(length);
        } finally {
            long endMs = Math.min(beganMs + unit.toMillis(length), GroupCounts.nowMs());
            user.group.ends(GroupCounts.PAUSES, endMs);
            longest(user, endMs - beganMs);
        }
    }

    /** Notes a pause of a user if it is, with those before it since the last sample, the longest so far. */
    private static void longest(User user, long lengthMs) {
        if (user == null) {
            return;
        }
        user.stillMs += lengthMs;
        if (user.stillMs > user.longestMs) {
            user.longestMs = user.stillMs;
            if (2 * user.longestMs >= IDLE_LEAST_MS) {
                attempt(() -> user.longestAt = name(context("getCurrentSampler")));
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> RuntimeException any(Throwable error) throws T {
        throw (T) error;
    }

    private static Object context(String what) throws Throwable {
        Class<?> service = threadClass.getClassLoader().loadClass("org.apache.jmeter.threads.JMeterContextService");
        Object context = service.getMethod("getContext").invoke(null);
        return context.getClass().getMethod(what).invoke(context);
    }

    private static String name(Object element) throws Throwable {
        return element == null ? "" : (String) Access.NAME.invoke(element);
    }

    /** What is counted. */
    private interface Action {
        void run() throws Throwable;
    }

    /** Counts; when that is not possible, nothing is counted any more. It never throws: JMeter's thread goes on. */
    private static void attempt(Action action) {
        if (GroupCounts.isUnknown) {
            return;
        }
        try {
            action.run();
        } catch (Throwable error) {
            GroupCounts.isUnknown = true;
            try {
                System.err.println("what the users do is not counted: " + error);
            } catch (Throwable another) {
                // There is no memory for it.
            }
        }
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        static final VarHandle GROUP;
        static final VarHandle RUNNING;
        static final VarHandle CONTROLLER;
        static final VarHandle SAMPLER;
        static final MethodHandle IS_DONE;
        static final MethodHandle IS_TRANSACTION_DONE;
        static final MethodHandle NAME;
        static final MethodHandle IS_SUCCESSFUL;
        static final MethodHandle LABEL;
        static final MethodHandle TIME;
        static final MethodHandle IS_TRANSACTION;

        static {
            try {
                ClassLoader loader = threadClass.getClassLoader();
                Class<?> thread = Class.forName(THREAD.replace('/', '.'), true, loader);
                Class<?> group = Class.forName("org.apache.jmeter.threads.AbstractThreadGroup", true, loader);
                Class<?> controller = Class.forName("org.apache.jmeter.control.Controller", true, loader);
                MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(thread, MethodHandles.lookup());
                GROUP = lookup.findVarHandle(thread, "threadGroup", group).withInvokeBehavior();
                RUNNING = lookup.findVarHandle(thread, "running", boolean.class).withInvokeBehavior();
                CONTROLLER = lookup.findVarHandle(thread, "threadGroupLoopController", controller).withInvokeBehavior();
                Class<?> sampler = Class.forName("org.apache.jmeter.samplers.Sampler", true, loader);
                SAMPLER = lookup.findVarHandle(thread, "currentSamplerForInterruption", sampler).withInvokeBehavior();
                IS_DONE = handle(loader, "org.apache.jmeter.control.Controller", "isDone");
                IS_TRANSACTION_DONE = handle(loader, "org.apache.jmeter.control.TransactionSampler", "isTransactionDone");
                NAME = handle(loader, "org.apache.jmeter.testelement.TestElement", "getName");
                IS_SUCCESSFUL = handle(loader, "org.apache.jmeter.samplers.SampleResult", "isSuccessful");
                LABEL = handle(loader, "org.apache.jmeter.samplers.SampleResult", "getSampleLabel");
                TIME = handle(loader, "org.apache.jmeter.samplers.SampleResult", "getTime");
                Class<?> result = Class.forName("org.apache.jmeter.samplers.SampleResult", true, loader);
                MethodHandle isTransaction = Handles.of(
                        Class.forName("org.apache.jmeter.control.TransactionController", true, loader),
                        "isFromTransactionController", result);
                IS_TRANSACTION = isTransaction.asType(isTransaction.type().changeParameterType(0, Object.class));
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }

        private static MethodHandle handle(ClassLoader loader, String type, String method) throws ReflectiveOperationException {
            MethodHandle found =
                    MethodHandles.publicLookup().unreflect(Class.forName(type, true, loader).getMethod(method));
            return found.asType(found.type().changeParameterType(0, Object.class));
        }
    }

    /** The method of timers; it must be known even when nothing else is. */
    private static final class OfTimer {
        static final MethodHandle DELAY;
        /** Whether a timer of a class only says how long to sleep. */
        static final ClassValue<Boolean> ANSWERS_AT_ONCE = new ClassValue<>() {
            @Override
            protected Boolean computeValue(Class<?> type) {
                return AT_ONCE.contains(type.getName());
            }
        };

        private static final Set<String> AT_ONCE = Stream.of(
                        "Constant", "UniformRandom", "GaussianRandom", "PoissonRandom", "ConstantThroughput")
                .map(name -> "org.apache.jmeter.timers." + name + "Timer")
                .collect(Collectors.toSet());

        static {
            try {
                ClassLoader loader = Thread.currentThread().getContextClassLoader();
                Class<?> timer = Class.forName("org.apache.jmeter.timers.Timer", false, loader);
                DELAY = MethodHandles.publicLookup()
                        .findVirtual(timer, "delay", MethodType.methodType(long.class))
                        .asType(MethodType.methodType(long.class, Object.class));
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }

        /** Has this class loaded before a timer is measured. */
        static void prepare() {}
    }
}
