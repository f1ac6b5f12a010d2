import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Counts how often extractors find nothing in successful answers, and how often what they left was sent on.
 *
 * What is left is the default, the value of before, or nothing, so that the name itself is sent. A miss is sent on when a
 * successful sample reads the variable while its sampler runs. One that the plan reads elsewhere, as in an If Controller,
 * a script or an assertion, is known to it: it is not counted, nor is one whose own sample an assertion fails.
 */
public final class Extractions {
    private static final String THREAD = "org/apache/jmeter/threads/JMeterThread";
    private static final String SAMPLER = "Lorg/apache/jmeter/samplers/Sampler;";
    private static final String OBJECT = "Ljava/lang/Object;";
    /** Defaults that an answer may well have, too. */
    private static final Pattern USUAL = Pattern.compile("[-\\d.]*");
    /** Whether samplers of a class are code, or send nothing: what they read is not sent. */
    private static final ClassValue<Boolean> IS_CODE = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return type.getName().matches("org\\.apache\\.jmeter\\.sampler\\..*|.*(?:JSR223|BeanShell|BSF)Sampler");
        }
    };
    /** Of the variables of several matches, and of the groups of one. */
    private static final Pattern SUFFIX = Pattern.compile("_(?:\\d+|g\\d*|\\d+_g\\d*|ALL)");

    private static final String COUNT = "_matchNr";
    private static final String COMPUTED = "${…}";
    private static final ThreadLocal<User> CURRENT = new ThreadLocal<>();
    private static volatile boolean hasMisses;

    private Extractions() {}

    /** What a thread does with the variables that it reads. */
    private enum Mode {
        ASKS, SENDS, PREPARES
    }

    /** A variable that an extractor found nothing for. */
    private static final class Miss {
        final String name;
        /** What the variable has; null when it is not set. */
        final Object value;
        final int left;
        final GroupCounts.Extraction counted;
        /** The answer, until it is judged. */
        Object result;
        /** It failed, so that the miss is seen. */
        boolean isSeen;
        boolean isSent;
        boolean isCounted;
        boolean isAsked;

        Miss(String name, Object value, int left, GroupCounts.Extraction counted, Object result) {
            this.name = name;
            this.value = value;
            this.left = left;
            this.counted = counted;
            this.result = result;
        }
    }

    /** The misses of a thread. */
    private static final class User {
        final List<Miss> misses = new ArrayList<>();
        /** What the latest sample sent. */
        final List<Miss> sent = new ArrayList<>();
        /** Variables that extractors found in the latest answer that they read. */
        final Set<String> found = new HashSet<>();
        WeakReference<Object> foundIn = new WeakReference<>(null);
        Object variables;
        Object latest;
        Mode mode = Mode.ASKS;
        boolean isExtracting;

        /** Counts what the latest sample sent, now that its assertions are done. */
        void settle() throws Throwable {
            for (Miss miss : misses) {
                if (miss.result != null) {
                    miss.isSeen = !(boolean) Access.IS_SUCCESSFUL.invoke(miss.result);
                    miss.result = null;
                }
            }
            boolean isSilent = latest == null || (boolean) Access.IS_SUCCESSFUL.invoke(latest);
            for (Miss miss : sent) {
                if (isSilent && !miss.isAsked && !miss.isSeen) {
                    miss.isCounted = true;
                    miss.counted.sends(miss.left, 1);
                }
            }
            sent.clear();
            latest = null;
        }

        void reads(Object result) {
            if (foundIn.get() != result) {
                foundIn = new WeakReference<>(result);
                found.clear();
            }
        }

        boolean lacks(String name) {
            return misses.stream().anyMatch(miss -> miss.name.equals(name));
        }

        void forget(String name) {
            misses.removeIf(miss -> miss.name.equals(name));
        }
    }

    /** How the variables of a kind of extractor are read. */
    private static final class Shape {
        final MethodHandle names;
        final MethodHandle defaults;
        final MethodHandle isEmptyDefault;
        final MethodHandle matchNumbers;
        /** The property of the default. */
        final String defaultKey;
        final boolean hasSeveral;
        /** It always puts its default, even an empty one. */
        final boolean isAlwaysPut;

        Shape(Class<?> type, String defaultKey, boolean hasSeveral, boolean isAlwaysPut) throws ReflectiveOperationException {
            this.defaultKey = defaultKey;
            this.hasSeveral = hasSeveral;
            this.isAlwaysPut = isAlwaysPut;
            names = Handles.of(type, hasSeveral ? "getRefNames" : "getRefName");
            defaults = Handles.of(type, hasSeveral ? "getDefaultValues" : "getDefaultValue");
            isEmptyDefault = isAlwaysPut ? null : Handles.of(type, "isEmptyDefaultValue");
            matchNumbers = Handles.of(type, hasSeveral ? "getMatchNumbers" : "getMatchNumber");
        }
    }

    private static final ClassValue<Shape[]> SHAPES = new ClassValue<>() {
        @Override
        protected Shape[] computeValue(Class<?> type) {
            try {
                String name = type.getSimpleName();
                Shape shape = switch (name) {
                    case "RegexExtractor", "BoundaryExtractor", "HtmlExtractor" -> new Shape(type, name + ".default", false, false);
                    case "XPathExtractor" -> new Shape(type, name + ".default", false, true);
                    case "XPath2Extractor" -> new Shape(type, "XPathExtractor2.default", false, true);
                    case "JMESPathExtractor" -> new Shape(type, "JMESExtractor.defaultValue", false, true);
                    case "JSONPostProcessor" -> new Shape(type, name + ".defaultValues", true, true);
                    default -> null;
                };
                return shape == null ? new Shape[0] : new Shape[] {shape};
            } catch (ReflectiveOperationException error) {
                System.err.println("what " + type.getSimpleName() + " finds is not counted: " + error);
                return new Shape[0];
            }
        }
    };

    /** Patches where extractors run, and where variables are read. */
    static void install(Instrumentation instrumentation) {
        String consequence = "what extractors find is not counted: this JMeter cannot be patched: ";
        String process = "org/apache/jmeter/processor/PostProcessor process ()V";
        new CallPatch("runPostProcessors", process, "Extractions", "process", "(" + OBJECT + ")V")
                .install(instrumentation, THREAD, consequence + process);
        String[][] patches = {
            {THREAD, "executeSamplePackage", SAMPLER, "begins"},
            {THREAD, "runPreProcessors", "Ljava/util/List;", "prepares"},
            {THREAD, "doSampling", SAMPLER, "sends"},
            {"org/apache/jmeter/threads/JMeterContext", "setPreviousResult", "Lorg/apache/jmeter/samplers/SampleResult;", "sampled"},
        };
        for (String[] one : patches) {
            new MethodPatch(one[1], one[2], false, "Extractions", one[3], OBJECT)
                    .install(instrumentation, one[0], consequence + one[1]);
        }
        new MethodPatch("get", "Ljava/lang/String;", false, "Extractions", "reads")
                .install(instrumentation, "org/apache/jmeter/threads/JMeterVariables", consequence + "variables");
    }

    /** Called instead of PostProcessor.process. */
    public static void process(Object processor) {
        Shape[] shape = SHAPES.get(processor.getClass());
        GroupCounts.Group group = shape.length == 0 || WarmUp.isOn() ? null : Users.group();
        User user = group == null ? null : CURRENT.get();
        if (user != null) {
            user.isExtracting = true;
        }
        Extracted extracted = null;
        if (group != null) {
            try {
                extracted = new Extracted(processor, shape[0], group);
            } catch (Throwable error) {
                // It is not counted.
            }
        }
        try {
            ScriptTimes.after(processor, Access.PROCESS);
        } catch (RuntimeException | Error error) {
            throw error;
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        } finally {
            if (user != null) {
                user.isExtracting = false;
            }
        }
        if (extracted != null) {
            try {
                extracted.count();
            } catch (Throwable error) {
                // JMeter's thread goes on.
            }
        }
    }

    /** One run of an extractor. */
    private static final class Extracted {
        private final Shape shape;
        private final GroupCounts.Group group;
        private final Object variables;
        private final Object result;
        private final String extractor;
        private final String[] names;
        private final String[] defaults;
        private final String[] matchNumbers;
        private final Object[] before;
        private final boolean isPut;
        /** The default is computed, as from the value of before: its text may be a secret, and differs each time. */
        private final boolean isComputed;

        Extracted(Object processor, Shape shape, GroupCounts.Group group) throws Throwable {
            this.shape = shape;
            this.group = group;
            Object context = Access.CONTEXT.invoke();
            variables = Access.VARIABLES.invoke(context);
            result = Access.RESULT.invoke(context);
            extractor = (String) Access.NAME.invoke(processor);
            names = texts(shape.names, processor);
            defaults = texts(shape.defaults, processor);
            matchNumbers = texts(shape.matchNumbers, processor);
            isPut = shape.isAlwaysPut || !defaults[0].isBlank() || (boolean) shape.isEmptyDefault.invoke(processor);
            Object property = Access.PROPERTY.invoke(processor, shape.defaultKey);
            isComputed = property.getClass().getSimpleName().equals("FunctionProperty");
            before = new Object[names.length];
            for (int at = 0; at < names.length; at++) {
                names[at] = names[at].trim();
                before[at] = Access.VALUE.invoke(variables, names[at]);
            }
        }

        private String[] texts(MethodHandle of, Object processor) throws Throwable {
            String text = String.valueOf((Object) of.invoke(processor));
            return shape.hasSeveral ? text.split(";") : new String[] {text};
        }

        void count() throws Throwable {
            if (result == null || !(boolean) Access.IS_SUCCESSFUL.invoke(result)) {
                return;
            }
            String label = (String) Access.LABEL.invoke(result);
            for (int at = 0; at < names.length; at++) {
                String text = isComputed ? COMPUTED : ofAll(defaults, at);
                GroupCounts.Extraction counted = group.extraction(extractor, names[at], label, text);
                boolean isMissed = isMissed(at);
                counted.ran(isMissed);
                User user = CURRENT.get();
                if (user == null) {
                    CURRENT.set(user = new User());
                }
                user.variables = variables;
                user.reads(result);
                if (!isMissed) {
                    user.forget(names[at]);
                    user.found.add(names[at]);
                } else if (isPut || !user.found.contains(names[at])) {
                    user.forget(names[at]);
                    Object value = Access.VALUE.invoke(variables, names[at]);
                    user.misses.add(new Miss(names[at], value, left(at, value), counted, result));
                    hasMisses = true;
                }
            }
        }

        private int left(int at, Object value) {
            if (matchNumber(at) < 0 || !isPut && value == null) {
                return GroupCounts.Extraction.UNSET;
            }
            return isPut ? GroupCounts.Extraction.DEFAULT : GroupCounts.Extraction.KEPT;
        }

        private int matchNumber(int at) {
            String number = ofAll(matchNumbers, at).trim();
            return number.isEmpty() ? 0 : Integer.parseInt(number);
        }

        private static String ofAll(String[] values, int at) {
            return at < values.length ? values[at] : "";
        }

        private boolean isMissed(int at) throws Throwable {
            Object count = Access.VALUE.invoke(variables, names[at] + COUNT);
            if (matchNumber(at) < 0) {
                return count == null || count.equals("0");
            }
            Object value = Access.VALUE.invoke(variables, names[at]);
            if (!isPut) {
                return value == before[at];
            }
            if (isComputed) { // anew by each call; one that has what was there before keeps that on purpose
                User user = CURRENT.get();
                return Objects.equals(value, ofAll(defaults, at))
                        && (!value.equals(before[at]) || user != null && user.lacks(names[at]));
            }
            // Only of several variables the text that is put is another object.
            if (!shape.hasSeveral || defaults.length == 1) {
                return value == defaults[0];
            }
            if (!Objects.equals(value, ofAll(defaults, at))) {
                return false;
            }
            if (count == null && matchNumber(at) == 0) {
                return !USUAL.matcher(ofAll(defaults, at)).matches(); // JMeter does not tell
            }
            return count == null || Integer.parseInt((String) count) < Math.max(1, matchNumber(at));
        }
    }

    /** Called before a step is prepared: the last one has been judged. */
    public static void begins(Object sampler) {
        enter(modeOf(sampler), true, null);
    }

    /** Called before the pre-processors of a step: what they read, they may replace. */
    public static void prepares(Object processors) {
        enter(Mode.PREPARES, false, null);
    }

    /** Called before a sampler samples. */
    public static void sends(Object sampler) {
        enter(modeOf(sampler), false, null);
    }

    /** Called with each result of a sampler. */
    public static void sampled(Object result) {
        enter(Mode.ASKS, false, result);
    }

    /** Returns whether a sampler is code, or sends nothing. */
    static boolean isCode(Object sampler) {
        return IS_CODE.get(sampler.getClass());
    }

    private static Mode modeOf(Object sampler) {
        return hasMisses && !isCode(sampler) ? Mode.SENDS : Mode.ASKS;
    }

    private static void enter(Mode mode, boolean isNext, Object result) {
        User user = hasMisses ? CURRENT.get() : null;
        if (user == null) {
            return;
        }
        try {
            if (isNext) {
                user.settle();
            }
            user.mode = mode;
            user.latest = result == null ? user.latest : result;
        } catch (Throwable error) {
            // JMeter's thread goes on.
        }
    }

    /** Called by a thread that ends. */
    static void finished() {
        enter(Mode.ASKS, true, null);
        CURRENT.remove();
    }

    /** Called with the name of each variable that is read. */
    public static void reads(String name) {
        User user = hasMisses ? CURRENT.get() : null;
        if (user == null || user.misses.isEmpty() || user.isExtracting || name == null || user.mode == Mode.PREPARES) {
            return;
        }
        try {
            for (Miss miss : user.misses) {
                if (name.startsWith(miss.name)) {
                    reads(user, miss, name);
                }
            }
        } catch (Throwable error) {
            // JMeter's thread goes on.
        }
    }

    private static void reads(User user, Miss miss, String name) throws Throwable {
        String suffix = name.substring(miss.name.length());
        boolean isLeft = suffix.isEmpty()
                ? Access.VALUE.invoke(user.variables, name) == miss.value
                : suffix.equals(COUNT) || SUFFIX.matcher(suffix).matches() && Access.VALUE.invoke(user.variables, name) == null;
        if (!isLeft) {
            return;
        }
        if (user.mode == Mode.SENDS) {
            if (!miss.isSent) {
                miss.isSent = true;
                user.sent.add(miss);
            }
        } else if (!miss.isAsked && !Access.WRITTEN.contains(name)) {
            miss.isAsked = true;
            if (miss.isCounted) {
                miss.counted.sends(miss.left, -1);
            }
        }
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        static final MethodHandle PROCESS = Handles.of("org.apache.jmeter.processor.PostProcessor", "process");
        static final MethodHandle NAME = Handles.of("org.apache.jmeter.testelement.TestElement", "getName");
        static final MethodHandle PROPERTY = Handles.of("org.apache.jmeter.testelement.TestElement", "getProperty", String.class);
        static final MethodHandle CONTEXT = Handles.of("org.apache.jmeter.threads.JMeterContextService", "getContext");
        static final MethodHandle VARIABLES = Handles.of("org.apache.jmeter.threads.JMeterContext", "getVariables");
        static final MethodHandle RESULT = Handles.of("org.apache.jmeter.threads.JMeterContext", "getPreviousResult");
        static final MethodHandle VALUE = Handles.of("org.apache.jmeter.threads.JMeterVariables", "getObject", String.class);
        static final MethodHandle IS_SUCCESSFUL = Handles.of("org.apache.jmeter.samplers.SampleResult", "isSuccessful");
        static final MethodHandle LABEL = Handles.of("org.apache.jmeter.samplers.SampleResult", "getSampleLabel");
        /** Variables that JMeter reads for the rows of the JTL. */
        static final Set<String> WRITTEN = written();

        private static Set<String> written() {
            try {
                Class<?> event = Handles.type("org.apache.jmeter.samplers.SampleEvent");
                Set<String> names = new HashSet<>();
                for (int at = (int) event.getMethod("getVarCount").invoke(null) - 1; at >= 0; at--) {
                    names.add((String) event.getMethod("getVarName", int.class).invoke(null, at));
                }
                return names;
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
