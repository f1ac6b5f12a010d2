import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.BooleanSupplier;

/**
 * Warms JMeter before its engine starts, for at most {@code -Dharness.warm} seconds: harness.sampler.WarmUp has requests like
 * the plan's sent to a server within this JVM, so that Java has compiled what the load uses. While {@link StartTime} holds the
 * engine anyway it takes up to {@code -Dharness.warm_held} seconds.
 *
 * While it is on nothing that threads of JMeter do is counted or stored. {@link #FILE} says what was done, as JSON. A warm-up
 * that fails leaves JMeter cold.
 */
public final class WarmUp {
    private static final Path FILE = Path.of(".warm-up.json");
    private static final double MOST_S = Double.parseDouble(System.getProperty("harness.warm", "0"));
    private static final double HELD_S = Double.parseDouble(System.getProperty("harness.warm_held", "0"));
    private static volatile boolean isOn;

    private WarmUp() {}

    /** Patches JMeter's engine when it is loaded, unless there is no time or no load: all exchanges of one pass are stored. */
    static void install(Instrumentation instrumentation) {
        if (MOST_S > 0 && !Exchanges.ALL) {
            new MethodPatch("run", MethodPatch.THIS, false, "WarmUp", "before", "Ljava/lang/Object;")
                    .install(
                            instrumentation,
                            "org/apache/jmeter/engine/StandardJMeterEngine",
                            "JMeter is not warmed: the engine of this JMeter cannot be patched");
        }
    }

    /** Returns whether the threads of JMeter are those of the warm-up. */
    static boolean isOn() {
        return isOn;
    }

    private static String reason(Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        boolean isOwn = cause.getClass() == IllegalStateException.class && cause.getMessage() != null;
        return isOwn ? cause.getMessage() : cause.toString();
    }

    /** Called at the start of the engine's thread; it never throws. */
    public static void before(Object engine) {
        isOn = true;
        String done;
        try {
            Class<?> sampler = SamplerSwitch.own("harness.sampler.WarmUp", engine.getClass().getClassLoader());
            done = (String) sampler.getMethod("run", Object.class, double.class, double.class, BooleanSupplier.class)
                    .invoke(null, engine, MOST_S, HELD_S, (BooleanSupplier) StartTime::isHeld);
        } catch (Throwable error) {
            done = "{\"problem\": \"" + reason(error).replaceAll("[^ -~]|[\"\\\\]", "'") + "\"}";
        } finally {
            ResultFlush.forget();
            isOn = false;
        }
        try {
            Files.writeString(FILE, done + "\n");
        } catch (IOException error) {
            System.err.println("the report does not say how JMeter was warmed: " + error);
        }
    }
}
