import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.ProtectionDomain;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;

/**
 * Stores requests and responses of JMeter as JSON, one exchange per line, in {@link #FILE} in the current folder.
 *
 * With {@code -Dharness.exchanges=failures} it stores the first {@link #MOST_PER_CAUSE} failed exchanges of each cause
 * (label, code and message); of a successful sample it only calls two getters. With {@code all} it stores every exchange with
 * the variables that changed; without the option nothing. Texts are cut, and the file has at most {@link #MOST_BYTES}, so that a
 * run in which every sample fails writes little.
 *
 * The agent patches JMeter's {@code ListenerNotifier}, which every sample passes, so the test plan needs no listener. This
 * class is in the boot class path, which does not see the classes of JMeter: it calls their methods by name.
 */
public final class Exchanges {
    /** Hidden, because it may contain secrets: the harness reads it, masks them and removes it. */
    static final String FILE = ".exchanges.jsonl";
    private static final int MOST_PER_CAUSE = 3;
    private static final int MOST_CAUSES = 50;
    private static final int MOST_DONE = 1000;
    private static final long MOST_BYTES = 8L * 1024 * 1024;
    private static final int MOST_TEXT = 16 * 1024;
    private static final int MOST_CAUSE = 200;
    private static final int MOST_VARIABLES = 200;
    /** A word that crosses a cut is dropped, up to this length: a part of a secret could not be masked. */
    private static final int MOST_WORD = 4096;
    private static final String NOTIFIER = "org/apache/jmeter/threads/ListenerNotifier";
    private static final String EVENT = "Lorg/apache/jmeter/samplers/SampleEvent;";
    private static final String TRANSACTION = "Number of samples in transaction";
    private static final Pattern SPACE = Pattern.compile("\\s+");
    private static final Pattern ID = Pattern.compile(
            "\\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\b|\\b(?=[a-f]*[0-9])[0-9a-f]{8,}\\b|\\d{4,}",
            Pattern.CASE_INSENSITIVE);

    private static final String MODE = System.getProperty("harness.exchanges", "");
    static final boolean ALL = "all".equals(MODE);
    private static final Map<String, Method> METHODS = new ConcurrentHashMap<>();
    private static final Map<String, AtomicInteger> COUNTS = new ConcurrentHashMap<>();
    /** Label, code and message of failures that are no longer stored: found faster than by their cause. */
    private static final Set<String> DONE = ConcurrentHashMap.newKeySet();
    private static final ThreadLocal<Map<String, String>> VARIABLES = ThreadLocal.withInitial(HashMap::new);
    private static volatile boolean isFull;
    private static volatile long writtenBytes;
    /** The class of the events, which knows JMeter's class loader; set by the first one. */
    private static volatile Class<?> eventClass;

    private Exchanges() {}

    /** The value of a variable before and after a sample; null when it was not set. */
    private record Change(String before, String after) {}

    /** Patches JMeter's notifier when it is loaded. */
    static void install(Instrumentation instrumentation) {
        if (MODE.isEmpty()) {
            return;
        }
        MethodPatch patch = new MethodPatch("notifyListeners", EVENT, false, "Exchanges", "see", "Ljava/lang/Object;");
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> seen, ProtectionDomain domain, byte[] classFile) {
                try {
                    return NOTIFIER.equals(name) ? patch.patched(classFile) : null;
                } catch (RuntimeException | Error error) {
                    System.err.println("requests and responses of failures are not stored: " + error);
                    return null;
                }
            }
        });
    }

    /**
     * The getters of an event and of its result. As constants of a class they are compiled like direct calls: a successful
     * sample of a load at full speed costs nanoseconds.
     */
    private static final class Getters {
        static final MethodHandle RESULT;
        static final MethodHandle IS_SUCCESSFUL;

        static {
            try {
                Method result = eventClass.getMethod("getResult");
                Method isSuccessful = result.getReturnType().getMethod("isSuccessful");
                RESULT = getter(result, Object.class);
                IS_SUCCESSFUL = getter(isSuccessful, boolean.class);
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }

        private static MethodHandle getter(Method method, Class<?> type) throws IllegalAccessException {
            return MethodHandles.publicLookup().unreflect(method).asType(MethodType.methodType(type, Object.class));
        }
    }

    /** Called by the patched method for each sample; it never throws. */
    public static void see(Object event) {
        TraceIds.begin(event);
        if (isFull) {
            return;
        }
        try {
            if (eventClass == null) {
                eventClass = event.getClass();
            }
            Object result = (Object) Getters.RESULT.invokeExact(event);
            if (ALL) {
                store(result, "", changes(event.getClass().getClassLoader()));
            } else if (!isSuccessful(result) && !WarmUp.isOn()) {
                storeFailed(result);
            }
        } catch (VirtualMachineError error) {
            throw error;
        } catch (Throwable error) {
            isFull = true;
            System.err.println("requests and responses are no longer stored: " + error);
        }
    }

    private static boolean isSuccessful(Object result) throws ReflectiveOperationException {
        try {
            return (boolean) Getters.IS_SUCCESSFUL.invokeExact(result);
        } catch (RuntimeException | Error error) {
            throw error;
        } catch (Throwable error) {
            throw new ReflectiveOperationException(error);
        }
    }

    /** Stores the failed requests within a sample; a sample of which no part failed is stored itself. */
    private static boolean storeFailed(Object result) throws ReflectiveOperationException, IOException {
        if (isSuccessful(result)) {
            return false;
        }
        boolean isStored = false;
        for (Object part : (Object[]) call(result, "getSubResults")) {
            isStored |= storeFailed(part);
        }
        String message = text(result, "getResponseMessage");
        if (isStored || message.startsWith(TRANSACTION)) {
            return true;
        }
        String failure = failureOf(result);
        String given = failure.isEmpty() ? message : failure;
        String source = text(result, "getSampleLabel") + '\n' + text(result, "getResponseCode") + '\n';
        String seen = source + given.substring(0, Math.min(given.length(), 4 * MOST_CAUSE));
        if (DONE.contains(seen)) {
            return true;
        }
        String cause = source + causeOf(given);
        AtomicInteger count = COUNTS.get(cause);
        if (count == null && COUNTS.size() < MOST_CAUSES) {
            count = COUNTS.computeIfAbsent(cause, key -> new AtomicInteger());
        }
        if (count != null && count.get() < MOST_PER_CAUSE && count.incrementAndGet() <= MOST_PER_CAUSE) {
            store(result, failure, Map.of());
        } else if (DONE.size() < MOST_DONE) {
            DONE.add(seen);
        }
        return true;
    }

    private static String causeOf(String given) {
        String start = SPACE.matcher(given.substring(0, Math.min(given.length(), 4 * MOST_CAUSE)).strip()).replaceAll(" ");
        return ID.matcher(start.substring(0, Math.min(start.length(), MOST_CAUSE))).replaceAll("…");
    }

    /** Returns the message that JMeter writes into its results: that of the first assertion with one. */
    private static String failureOf(Object result) throws ReflectiveOperationException {
        for (Object assertion : (Object[]) call(result, "getAssertionResults")) {
            if (call(assertion, "getFailureMessage") != null) {
                return text(assertion, "getFailureMessage");
            }
        }
        return "";
    }

    private static void store(Object result, String failure, Map<String, Change> changes)
            throws ReflectiveOperationException, IOException {
        StringBuilder out = new StringBuilder(1024);
        out.append("{\"label\":");
        quote(out, text(result, "getSampleLabel"));
        out.append(",\"thread\":");
        quote(out, text(result, "getThreadName"));
        out.append(",\"start_ms\":").append(call(result, "getStartTime"));
        out.append(",\"elapsed_ms\":").append(call(result, "getTime"));
        out.append(",\"is_success\":").append(isSuccessful(result));
        out.append(",\"code\":");
        quote(out, text(result, "getResponseCode"));
        out.append(",\"message\":");
        quote(out, cut(text(result, "getResponseMessage")));
        out.append(",\"failure\":");
        quote(out, cut(ALL ? failureOf(result) : failure));
        request(out, result);
        response(out, result);
        assertions(out, result);
        out.append(",\"variables\":{");
        String comma = "";
        for (Map.Entry<String, Change> change : changes.entrySet()) {
            out.append(comma);
            quote(out, change.getKey());
            out.append(":[");
            quote(out, change.getValue().before());
            out.append(',');
            quote(out, change.getValue().after());
            out.append(']');
            comma = ",";
        }
        write(out.append("}}\n").toString().getBytes(StandardCharsets.UTF_8));
        if (ALL) {
            for (Object part : (Object[]) call(result, "getSubResults")) {
                store(part, "", Map.of());
            }
        }
    }

    private static void request(StringBuilder out, Object result) throws ReflectiveOperationException {
        boolean isHttp = method(result, "getHTTPMethod") != null;
        String body = text(result, isHttp ? "getQueryString" : "getSamplerData");
        out.append(",\"method\":");
        quote(out, isHttp ? text(result, "getHTTPMethod") : "");
        out.append(",\"url\":");
        quote(out, cut(text(result, "getUrlAsString")));
        out.append(",\"request_headers\":");
        quote(out, cut(text(result, "getRequestHeaders")));
        out.append(",\"cookies\":");
        quote(out, isHttp ? cut(text(result, "getCookies")) : "");
        out.append(",\"request_body\":");
        quote(out, cut(body));
        out.append(",\"request_characters\":").append(body.length());
    }

    private static void response(StringBuilder out, Object result) throws ReflectiveOperationException {
        byte[] data = (byte[]) call(result, "getResponseData");
        boolean isText = !"bin".equals(text(result, "getDataType")) && !hasNul(data);
        out.append(",\"response_headers\":");
        quote(out, cut(text(result, "getResponseHeaders")));
        out.append(",\"response_body\":");
        if (isText) {
            // One character more than is stored, so that `cut` sees that there is more; UTF-8 has up to four bytes each.
            quote(out, cut(new String(data, 0, Math.min(data.length, 4 * (MOST_TEXT + 1)), charset(result))));
        } else {
            out.append("null");
        }
        out.append(",\"response_bytes\":").append(data.length);
    }

    private static void assertions(StringBuilder out, Object result) throws ReflectiveOperationException {
        out.append(",\"assertions\":[");
        String comma = "";
        for (Object assertion : (Object[]) call(result, "getAssertionResults")) {
            boolean isFailed = (Boolean) call(assertion, "isFailure") || (Boolean) call(assertion, "isError");
            out.append(comma).append('[');
            quote(out, text(assertion, "getName"));
            out.append(',').append(!isFailed).append(',');
            quote(out, cut(text(assertion, "getFailureMessage")));
            out.append(']');
            comma = ",";
        }
        out.append(']');
    }

    /** Returns the variables that changed since the thread's last sample, by name. */
    private static Map<String, Change> changes(ClassLoader loader) throws ReflectiveOperationException {
        Map<String, String> now = new HashMap<>();
        Object context = loader.loadClass("org.apache.jmeter.threads.JMeterContextService").getMethod("getContext").invoke(null);
        Object variables = call(context, "getVariables");
        if (variables != null) {
            for (Object entry : (Iterable<?>) call(variables, "entrySet")) {
                Map.Entry<?, ?> pair = (Map.Entry<?, ?>) entry;
                if (pair.getKey() != null && pair.getValue() instanceof String value) {
                    now.put((String) pair.getKey(), value);
                }
            }
        }
        Map<String, String> before = VARIABLES.get();
        VARIABLES.set(now);
        Map<String, Change> changes = new TreeMap<>();
        for (Map.Entry<String, String> pair : now.entrySet()) {
            String old = before.get(pair.getKey());
            if (!Objects.equals(old, pair.getValue()) && changes.size() < MOST_VARIABLES) {
                changes.put(pair.getKey(), new Change(old == null ? null : cut(old), cut(pair.getValue())));
            }
        }
        return changes;
    }

    private static synchronized void write(byte[] line) throws IOException {
        if (isFull || writtenBytes + line.length > MOST_BYTES) {
            isFull = true;
            return;
        }
        writtenBytes += line.length;
        Files.write(Path.of(FILE), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private static boolean hasNul(byte[] data) {
        for (int at = 0; at < Math.min(data.length, MOST_TEXT); at++) {
            if (data[at] == 0) {
                return true;
            }
        }
        return false;
    }

    private static Charset charset(Object result) throws ReflectiveOperationException {
        try {
            return Charset.forName(text(result, "getDataEncodingWithDefault"));
        } catch (IllegalArgumentException error) {
            return StandardCharsets.UTF_8;
        }
    }

    /** Returns a text of at most MOST_TEXT characters, without a part of a word at its end. */
    private static String cut(String text) {
        if (text.length() <= MOST_TEXT) {
            return text;
        }
        int end = MOST_TEXT;
        while (end > MOST_TEXT - MOST_WORD && !Character.isWhitespace(text.charAt(end)) && "\"'<>&,;".indexOf(text.charAt(end)) < 0) {
            end--;
        }
        return text.substring(0, end) + "…";
    }

    private static void quote(StringBuilder out, String text) {
        if (text == null) {
            out.append("null");
            return;
        }
        out.append('"');
        for (int at = 0; at < text.length(); at++) {
            char one = text.charAt(at);
            if (one == '"' || one == '\\') {
                out.append('\\').append(one);
            } else if (one < ' ' || Character.isSurrogate(one)) {
                out.append(String.format("\\u%04x", (int) one));
            } else {
                out.append(one);
            }
        }
        out.append('"');
    }

    private static String text(Object target, String name) throws ReflectiveOperationException {
        Object value = call(target, name);
        return value == null ? "" : value.toString();
    }

    private static Object call(Object target, String name) throws ReflectiveOperationException {
        Method method = method(target, name);
        if (method == null) {
            throw new NoSuchMethodException(target.getClass().getName() + "." + name);
        }
        return method.invoke(target);
    }

    private static Method method(Object target, String name) {
        String key = target.getClass().getName() + '.' + name;
        Method known = METHODS.get(key);
        if (known == null) {
            try {
                known = target.getClass().getMethod(name);
                known.setAccessible(true);
            } catch (NoSuchMethodException error) {
                return null;
            }
            METHODS.put(key, known);
        }
        return known;
    }
}
