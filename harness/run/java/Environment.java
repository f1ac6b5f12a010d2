import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;

/**
 * Gives JMeter the environment variables of {@code -Dharness.environment=NAME,…} as properties, before the load begins.
 *
 * The harness has the plan read them as {@code ${__P(harness.environment.NAME)}} where it says
 * {@code ${__groovy(System.getenv("NAME"))}}: the first evaluation of that starts a script engine within a request, which
 * takes a second, and several while users start. The values are in no command and no file.
 */
public final class Environment {
    private static final String NAMES = System.getProperty("harness.environment", "");
    private static final String PREFIX = "harness.environment.";

    private Environment() {}

    /** Patches JMeter's engine when it is loaded; without variables it stays as it is. */
    static void install(Instrumentation instrumentation) {
        if (!NAMES.isEmpty()) {
            new MethodPatch("run", MethodPatch.THIS, false, "Environment", "give", "Ljava/lang/Object;")
                    .install(
                            instrumentation,
                            "org/apache/jmeter/engine/StandardJMeterEngine",
                            "the plan does not get its secrets: the engine of this JMeter cannot be patched");
        }
    }

    /** Called at the start of the engine's thread. */
    public static void give(Object engine) throws ReflectiveOperationException {
        Class<?> utils = Class.forName("org.apache.jmeter.util.JMeterUtils", true, engine.getClass().getClassLoader());
        Method set = utils.getMethod("setProperty", String.class, String.class);
        for (String name : NAMES.split(",")) {
            String value = System.getenv(name);
            set.invoke(null, PREFIX + name, value == null ? "" : value);
        }
    }
}
