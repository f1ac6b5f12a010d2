import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Lets JEXL expressions only compute: texts, numbers, dates and collections, JMeter's variables and the sample before.
 *
 * JMeter puts a variable's text into an expression before it evaluates it, so that a server's answer may become code. What is
 * not listed here is blocked: construction, calls and properties. Such an expression fails as every wrong one does in JMeter.
 * The property {@code harness.scripts=true} is for plans that may run scripts.
 */
public final class JexlRules {
    private static final String PACKAGE = "org.apache.commons.jexl3.";
    private static final String NOTHING = "-";
    /** Classes that compute. What is an interface or abstract allows its methods, but no construction, of each class of it. */
    private static final List<String> COMPUTE = List.of(
            "java.lang.String", "java.lang.CharSequence", "java.lang.StringBuilder", "java.lang.Math", "java.lang.Number",
            "java.lang.Boolean", "java.lang.Character", "java.lang.Integer", "java.lang.Long", "java.lang.Short",
            "java.lang.Byte", "java.lang.Double", "java.lang.Float", "java.math.BigDecimal", "java.math.BigInteger",
            "java.util.Collection", "java.util.List", "java.util.Set", "java.util.Map", "java.util.Map$Entry",
            "java.util.AbstractCollection", "java.util.AbstractList", "java.util.AbstractSet", "java.util.AbstractMap",
            "java.util.Iterator", "java.util.ArrayList", "java.util.LinkedHashMap", "java.util.HashMap", "java.util.HashSet",
            "java.util.Arrays", "java.util.Collections", "java.util.Random", "java.util.UUID", "java.util.Date",
            "java.util.Calendar", "java.util.GregorianCalendar", "java.util.Base64", "java.util.Base64$Encoder",
            "java.util.Base64$Decoder", "java.util.Locale", "java.util.TimeZone", "java.text.SimpleDateFormat",
            "java.text.DecimalFormat", "java.time.LocalDate", "java.time.LocalTime", "java.time.LocalDateTime",
            "java.time.ZonedDateTime", "java.time.OffsetDateTime", "java.time.Instant", "java.time.Duration",
            "java.time.Period", "java.time.ZoneId", "java.time.ZoneOffset", "java.time.DayOfWeek", "java.time.Month",
            "java.time.format.DateTimeFormatter", "java.time.temporal.ChronoUnit", "java.util.regex.Pattern",
            "java.util.regex.Matcher");
    private static final List<String> ARRAYS = List.of(
            "[I", "[J", "[D", "[F", "[Z", "[B", "[C", "[S", "[Ljava.lang.Object;", "[Ljava.lang.String;",
            "[Ljava.lang.Integer;", "[Ljava.lang.Long;", "[Ljava.lang.Double;", "[Ljava.lang.Boolean;", "[Ljava.lang.Number;");
    /** Methods of JMeter's objects, after their class. */
    private static final List<List<String>> OBJECTS = List.of(
            List.of("org.apache.jmeter.threads.JMeterVariables", "get", "getObject", "put", "remove", "size", "getIteration"),
            List.of("org.apache.jmeter.threads.JMeterContext", "getThreadNum", "getVariables", "getPreviousResult"),
            List.of("java.util.Properties", "get", "getProperty"),
            List.of("org.apache.jmeter.samplers.SampleResult", "getResponseDataAsString", "getResponseCode", "getResponseMessage",
                    "getResponseHeaders", "getSampleLabel", "getThreadName", "getTime", "getLatency", "getConnectTime",
                    "getBytesAsLong", "getStartTime", "getEndTime", "isSuccessful", "isResponseCodeOK", "getContentType"),
            List.of("java.io.PrintStream", "print", "println"),
            List.of("org.slf4j.spi.LocationAwareLogger", "debug", "info", "warn", "error"),
            List.of("org.slf4j.Logger", "debug", "info", "warn", "error"));

    private JexlRules() {}

    /** Patches the maker of JEXL's engines when it is loaded, unless the plan may run scripts. */
    static void install(Instrumentation instrumentation) {
        if (!Boolean.getBoolean("harness.scripts")) {
            new MethodPatch("create", MethodPatch.THIS, false, "JexlRules", "restrict", "Ljava/lang/Object;")
                    .install(instrumentation, (PACKAGE + "JexlBuilder").replace('.', '/'),
                            "JEXL expressions can run code: JEXL of this JMeter cannot be patched");
        }
    }

    /** Called before an engine is made; without its rules there is no engine. */
    public static void restrict(Object builder) {
        try {
            Class<?> type = builder.getClass();
            ClassLoader loader = type.getClassLoader();
            Class<?> rules = Class.forName(PACKAGE + "introspection.JexlSandbox", true, loader);
            Object sandbox = rules.getConstructor(boolean.class, boolean.class).newInstance(false, true);
            for (String name : COMPUTE) {
                Class<?> one = Class.forName(name, false, loader);
                Set<String> names = methods(one);
                boolean isOfMany = Modifier.isAbstract(one.getModifiers());
                if (!isOfMany) {
                    names.add(""); // construction
                }
                allow(rules, sandbox, name, isOfMany, names);
            }
            for (String name : ARRAYS) { // JEXL lends them the methods of lists
                allow(rules, sandbox, name, false, methods(List.class));
            }
            for (List<String> each : OBJECTS) {
                allow(rules, sandbox, each.get(0), true, each.subList(1, each.size()));
            }
            type.getMethod("sandbox", rules).invoke(builder, sandbox);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("the rules for JEXL expressions cannot be set", error);
        }
    }

    private static Set<String> methods(Class<?> type) {
        Set<String> names = new TreeSet<>();
        Set<String> hidden = new TreeSet<>();
        for (Method method : type.getMethods()) {
            (isHarmless(method) ? names : hidden).add(method.getName());
        }
        names.removeAll(hidden);
        return names;
    }

    private static boolean isHarmless(Method method) {
        Class<?> type = method.getReturnType();
        boolean isOfObject = method.getDeclaringClass() == Object.class
                && !Set.of("toString", "equals", "hashCode").contains(method.getName());
        return !isOfObject && type != Class.class && type != ClassLoader.class;
    }

    private static void allow(Class<?> rules, Object sandbox, String name, boolean isOfMany, Iterable<String> methods)
            throws ReflectiveOperationException {
        Object given = rules.getMethod(
                        "permissions", String.class, boolean.class, boolean.class, boolean.class, boolean.class)
                .invoke(sandbox, name, isOfMany, false, true, true);
        add(given, "read", List.of("class", "Class", "declaringClass", "DeclaringClass"));
        add(given, "write", List.of(NOTHING)); // an empty list would allow all
        add(given, "execute", methods);
    }

    private static void add(Object permissions, String what, Iterable<String> names) throws ReflectiveOperationException {
        List<String> all = new ArrayList<>();
        names.forEach(all::add);
        permissions.getClass().getMethod(what, String[].class).invoke(permissions, (Object) all.toArray(String[]::new));
    }
}
