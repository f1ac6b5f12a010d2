import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Holds JMeter's engine until the time at which all parts of a run begin, so that the start of the JVM makes none late.
 *
 * The property {@code harness.start_at} is that time, ms since 1970, or the absolute path of a file that will contain it.
 * Beside the file, one that ends with .held says that the engine waits for it.
 */
public final class StartTime {
    private static final String AT = System.getProperty("harness.start_at");
    private static final long LOOK_MS = 20;

    private StartTime() {}

    /** Patches JMeter's engine when it is loaded; without a time it stays as it is. */
    static void install(Instrumentation instrumentation) {
        if (AT != null) {
            MethodPatch patch = new MethodPatch("run", MethodPatch.THIS, false, "StartTime", "hold", "Ljava/lang/Object;");
            patch.install(
                    instrumentation,
                    "org/apache/jmeter/engine/StandardJMeterEngine",
                    "the load begins as soon as JMeter has started: the engine of this JMeter cannot be patched");
        }
    }

    /** Returns whether the load may not begin yet: the file does not contain its time. */
    static boolean isHeld() {
        return AT != null && Path.of(AT).isAbsolute() && Files.notExists(Path.of(AT));
    }

    /** Called at the start of the engine's thread. */
    public static void hold(Object engine) throws InterruptedException, IOException {
        String at = AT;
        Path file = Path.of(at);
        if (file.isAbsolute()) {
            Files.createFile(Path.of(at + ".held"));
            while (Files.notExists(file)) {
                Thread.sleep(LOOK_MS);
            }
            at = Files.readString(file);
        }
        Thread.sleep(Math.max(0, Long.parseLong(at.strip()) - System.currentTimeMillis()));
    }
}
