import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.security.ProtectionDomain;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Writes the trace id that each request carried into its row of the JTL, with {@code -Dharness.trace=COLUMN}.
 *
 * JMeter writes the value of the thread's variable of that name into the rows of a sample and its sub-samples: the id of
 * the thread's last request. So rows of other samplers and of Transaction Controllers would repeat it. {@link #row} sets
 * the value to the id in the sample's own request headers, and to nothing for a sample without.
 */
public final class TraceIds {
    private static final String COLUMN = System.getProperty("harness.trace", "");
    private static final String WRITER = "org/apache/jmeter/save/CSVSaveService";
    private static final String RESULT = "Lorg/apache/jmeter/samplers/SampleResult;";
    private static final Pattern SENT =
            Pattern.compile("^traceparent: *[0-9a-f]{2}-([0-9a-f]{32})-", Pattern.CASE_INSENSITIVE | Pattern.MULTILINE);
    /** The event whose rows the thread writes. */
    private static final ThreadLocal<Object> EVENT = new ThreadLocal<>();

    private static volatile boolean isOn = !COLUMN.isEmpty();
    private static volatile Field values;
    private static int index;
    private static Method requestHeaders;

    private TraceIds() {}

    /** Patches the method that writes a row when its class is loaded. */
    static void install(Instrumentation instrumentation) {
        if (!isOn) {
            return;
        }
        MethodPatch patch =
                new MethodPatch("resultToDelimitedString", RESULT, false, "TraceIds", "row", "Ljava/lang/Object;");
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> seen, ProtectionDomain domain, byte[] classFile) {
                try {
                    return WRITER.equals(name) ? patch.patched(classFile) : null;
                } catch (RuntimeException | Error error) {
                    end(error);
                    return null;
                }
            }
        });
    }

    /** Remembers the event that the thread is about to write. */
    static void begin(Object event) {
        if (isOn) {
            EVENT.set(event);
        }
    }

    /** Called by the patched method for each row; it never throws. */
    public static void row(Object result) {
        Object event = EVENT.get();
        if (!isOn || event == null) {
            return;
        }
        try {
            if (values == null) {
                find(event, result);
            }
            Object headers = requestHeaders.invoke(result);
            Matcher sent = headers == null ? null : SENT.matcher((String) headers);
            String[] own = (String[]) values.get(event);
            if (own.length <= index) { // from a load generator, which has no such variable
                int known = own.length;
                own = Arrays.copyOf(own, index + 1);
                Arrays.fill(own, known, own.length, "");
                values.set(event, own);
            }
            own[index] = sent != null && sent.find() ? sent.group(1) : "";
        } catch (ReflectiveOperationException | RuntimeException error) {
            end(error);
        }
    }

    private static synchronized void find(Object event, Object result) throws ReflectiveOperationException {
        Class<?> type = event.getClass();
        Method nameOf = type.getMethod("getVarName", int.class);
        for (int count = (Integer) type.getMethod("getVarCount").invoke(null), at = 0; at < count; at++) {
            if (COLUMN.equals(nameOf.invoke(null, at))) {
                index = at;
            }
        }
        Class<?> base = result.getClass();
        while (!base.getSimpleName().equals("SampleResult")) {
            base = base.getSuperclass();
        }
        requestHeaders = base.getMethod("getRequestHeaders");
        Field field = type.getDeclaredField("values");
        field.setAccessible(true);
        values = field;
    }

    private static void end(Throwable error) {
        isOn = false;
        System.err.println("trace ids are not written: " + error);
    }
}
