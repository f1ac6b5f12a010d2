import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/**
 * Counts successful samples that send the name of a variable, such as ${user}, because nothing sets it.
 *
 * JMeter leaves the name where it finds no value: of a misspelt name, of a script that failed before it set the variable, of
 * a column that a data file does not have. What a thread read in vain is looked for in what its next sample sent.
 */
public final class UnsetVariables {
    private static final String CONTEXT = "org/apache/jmeter/threads/JMeterContext";
    private static final String RESULT = "org/apache/jmeter/samplers/SampleResult";
    private static final String OBJECT = "Ljava/lang/Object;";
    private static final String TEXT = "Ljava/lang/String;";
    /** The variables that a thread read in vain since its latest sample. */
    private static final ThreadLocal<Set<String>> UNSET = new ThreadLocal<>();
    /** How a reference to a variable looks, by its name: the names are those of the plan. */
    private static final Map<String, Pattern> REFERENCES = new ConcurrentHashMap<>();
    /** More of them are no misspelt names. */
    private static final int MOST = 50;

    private static volatile boolean hasUnset;

    private UnsetVariables() {}

    /** Patches where the reference to a variable is replaced by its value, and where a sample is done. */
    static void install(Instrumentation instrumentation) {
        String consequence = "variables that nothing sets are not counted: this JMeter cannot be patched: ";
        String get = "org/apache/jmeter/threads/JMeterVariables get (" + TEXT + ")" + TEXT;
        new CallPatch("toString", get, "UnsetVariables", "get", "(" + OBJECT + TEXT + ")" + TEXT)
                .install(instrumentation, "org/apache/jmeter/engine/util/SimpleVariable", consequence + get);
        new MethodPatch("setPreviousResult", "L" + RESULT + ";", false, "UnsetVariables", "sampled", OBJECT)
                .install(instrumentation, CONTEXT, consequence + CONTEXT);
    }

    /** Called instead of JMeterVariables.get. */
    public static String get(Object variables, String name) {
        try {
            String value = (String) Access.GET.invoke(variables, name);
            if (value == null && name != null) {
                lacks(name);
            }
            return value;
        } catch (RuntimeException | Error error) {
            throw error;
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
    }

    private static void lacks(String name) {
        Set<String> unset = UNSET.get();
        if (unset == null) {
            UNSET.set(unset = new HashSet<>());
            hasUnset = true;
        }
        if (unset.size() < MOST) {
            unset.add(name);
        }
    }

    /** Called with each result of a sampler. */
    public static void sampled(Object result) {
        Set<String> unset = hasUnset && result != null ? UNSET.get() : null;
        if (unset == null || unset.isEmpty()) {
            return;
        }
        try {
            GroupCounts.Group group = WarmUp.isOn() ? null : Users.group();
            if (group != null && (boolean) Access.IS_SUCCESSFUL.invoke(result) && !isOfCode()) {
                String sent = Access.URL.invoke(result) + "\n" + Access.HEADERS.invoke(result) + "\n" + Access.SENT.invoke(result);
                for (String name : unset) {
                    if (REFERENCES.computeIfAbsent(name, UnsetVariables::reference).matcher(sent).find()) {
                        String reference = "${" + name + "}";
                        GroupCounts.Extraction counted =
                                group.extraction("", name, (String) Access.LABEL.invoke(result), reference);
                        counted.ran(true);
                        counted.sends(GroupCounts.Extraction.UNSET, 1);
                    }
                }
            }
        } catch (Throwable error) {
            // JMeter's thread goes on.
        }
        unset.clear();
    }

    /** Returns what finds a reference to a variable, also in a part of a URL. */
    private static Pattern reference(String name) {
        return Pattern.compile("(?i:[$]|%24)(?i:[{]|%7b)" + Pattern.quote(name) + "(?i:[}]|%7d)");
    }

    /** Returns whether what is called sent is code, in which ${name} may be a variable of its own. */
    private static boolean isOfCode() throws Throwable {
        Object sampler = Access.SAMPLER.invoke(Access.CURRENT.invoke());
        return sampler == null || Extractions.isCode(sampler);
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        static final MethodHandle GET = Handles.of("org/apache/jmeter/threads/JMeterVariables", "get", String.class);
        static final MethodHandle CURRENT = Handles.of("org/apache/jmeter/threads/JMeterContextService", "getContext");
        static final MethodHandle SAMPLER = Handles.of(CONTEXT, "getCurrentSampler");
        static final MethodHandle IS_SUCCESSFUL = Handles.of(RESULT, "isSuccessful");
        static final MethodHandle URL = Handles.of(RESULT, "getUrlAsString");
        static final MethodHandle HEADERS = Handles.of(RESULT, "getRequestHeaders");
        static final MethodHandle SENT = Handles.of(RESULT, "getSamplerData");
        static final MethodHandle LABEL = Handles.of(RESULT, "getSampleLabel");
    }
}
