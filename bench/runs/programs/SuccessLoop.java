import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Prints the CPU time, in nanoseconds, that the agent's {@code Exchanges.see} needs for a successful sample: the lowest of some
 * rounds. The events stand in for those of JMeter.
 */
public final class SuccessLoop {
    private static final int EVENTS = 1024;
    private static final int CALLS = 20_000_000;
    private static final int ROUNDS = 6;

    private SuccessLoop() {}

    /** A sample. */
    public static final class Result {
        private final boolean successful;

        Result(boolean successful) {
            this.successful = successful;
        }

        public boolean isSuccessful() {
            return successful;
        }
    }

    /** What JMeter passes to its listeners. */
    public static final class Event {
        private final Result result = new Result(true);

        public Result getResult() {
            return result;
        }
    }

    public static void main(String[] arguments) {
        Event[] events = new Event[EVENTS];
        for (int at = 0; at < EVENTS; at++) {
            events[at] = new Event();
        }
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        double least = Double.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
            long before = threads.getCurrentThreadCpuTime();
            for (int call = 0; call < CALLS; call++) {
                Exchanges.see(events[call & (EVENTS - 1)]);
            }
            least = Math.min(least, (threads.getCurrentThreadCpuTime() - before) / (double) CALLS);
        }
        System.out.printf("%.2f%n", least);
    }
}
