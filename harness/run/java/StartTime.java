import java.lang.instrument.Instrumentation;

/** Holds JMeter's engine until the time at which all parts of a run begin, so that the start of the JVM makes none late. */
public final class StartTime {
    private static final Long AT_MS = Long.getLong("harness.start_at_ms");

    private StartTime() {}

    /** Patches JMeter's engine when it is loaded; without a time it stays as it is. */
    static void install(Instrumentation instrumentation) {
        if (AT_MS != null) {
            MethodPatch patch = new MethodPatch("run", MethodPatch.THIS, false, "StartTime", "hold", "Ljava/lang/Object;");
            patch.install(
                    instrumentation,
                    "org/apache/jmeter/engine/StandardJMeterEngine",
                    "the load begins as soon as JMeter has started: the engine of this JMeter cannot be patched");
        }
    }

    /** Called at the start of the engine's thread. */
    public static void hold(Object engine) throws InterruptedException {
        long leftMs = AT_MS - System.currentTimeMillis();
        if (leftMs > 0) {
            Thread.sleep(leftMs);
        }
    }
}
