import java.lang.instrument.Instrumentation;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.stream.Stream;

/**
 * Wakes a user who waits in a Throughput Shaping Timer every {@link #PERIOD_MS}.
 *
 * The timer (jmeter-plugins-tst 2.5) lets a user sleep for (users who wait ÷ requests per second) seconds, and after each
 * request it wakes the one who has slept longest, mostly too early: that user sleeps as long again. A request for which no
 * user is awake until its second ends is not sent: of 2 requests per second with 20 users who wait, a third. A user
 * who is woken here calls the timer again, which decides alone who may pass: its rates do not change.
 */
public final class TimerWaker {
    private static final long PERIOD_MS = 10;
    private static final String TIMER = "kg/apc/jmeter/timers/VariableThroughputTimer";
    private static volatile List<WeakReference<Object>> timers = List.of();
    private static boolean isOn;

    private TimerWaker() {}

    /** Patches the timer when it is loaded. */
    static void install(Instrumentation instrumentation) {
        MethodPatch patch =
                new MethodPatch("delay", MethodPatch.THIS, false, "TimerWaker", "see", "Ljava/lang/Object;");
        patch.install(
                instrumentation,
                TIMER,
                "a Throughput Shaping Timer may send too few requests: this version cannot be patched");
    }

    /** Called by the patched method each time that a user asks a timer. */
    public static void see(Object timer) {
        for (WeakReference<Object> known : timers) {
            if (known.get() == timer) {
                return;
            }
        }
        add(timer);
    }

    private static synchronized void add(Object timer) {
        // By identity: JMeter's elements are equal when their properties are.
        Stream<Object> others = timers.stream().map(WeakReference::get).filter(one -> one != null && one != timer);
        timers = Stream.concat(others, Stream.of(timer)).map(WeakReference::new).toList();
        if (!isOn) {
            isOn = true;
            Ticker.every(PERIOD_MS, "wakes users of timers", TimerWaker::wake);
        }
    }

    private static void wake() {
        for (WeakReference<Object> known : timers) {
            Object timer = known.get();
            if (timer != null) {
                synchronized (timer) {
                    timer.notify();
                }
            }
        }
    }
}
