import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Counts conditions of controllers, and those that JMeter cannot read: it takes them for an answer, and says nothing, or logs it.
 *
 * An If Controller then skips its steps, a While Controller repeats them without end, and a Switch Controller sends the first.
 * Such a condition failed, or its text is neither true nor false but an expression: of a misspelt function, or with operators
 * outside of one. A word is none: plans use a variable, set or not, as a switch.
 */
public final class Conditions {
    private static final String OBJECT = "Ljava/lang/Object;";
    private static final String TEXT = "Ljava/lang/String;";
    private static final String CONTROL = "org/apache/jmeter/control/";
    private static final Pattern WORD = Pattern.compile("[\\w .-]*|\\$\\{\\w[\\w .-]*\\}");
    private static final Pattern FUNCTION = Pattern.compile("\\$\\{__\\w+[({}].*", Pattern.DOTALL);
    /** What an If Controller takes for false; 1 is what __P gives for a property that is not set. */
    private static final Set<String> YES = Set.of("yes", "y", "on");
    /** While a condition of a thread is computed: whether a part of it failed. */
    private static final ThreadLocal<boolean[]> COMPUTED = new ThreadLocal<>();

    private Conditions() {}

    /** Patches where controllers read their conditions. */
    static void install(Instrumentation instrumentation) {
        String[][] reads = {
            {"IfController", "next", "getCondition", "ofIf"},
            {"WhileController", "endOfLoop", "getCondition", "ofWhile"},
            {"SwitchController", "getSelectionAsInt", "getSelection", "ofSwitch"},
        };
        String consequence = "conditions that fail are not counted: this JMeter cannot be patched: ";
        for (String[] one : reads) {
            String call = CONTROL + one[0] + " " + one[2] + " ()" + TEXT;
            new CallPatch(one[1], call, "Conditions", one[3], "(" + OBJECT + ")" + TEXT)
                    .install(instrumentation, CONTROL + one[0], consequence + one[0]);
        }
        String call = "org/slf4j/Logger error (" + TEXT + "[" + OBJECT + ")V";
        for (String type : new String[] {"IfController$NashornJsEngine", "IfController$RhinoJsEngine"}) {
            new CallPatch("evaluate", call, "Conditions", "error", "(" + OBJECT + TEXT + "[" + OBJECT + ")V")
                    .install(instrumentation, CONTROL + type, consequence + type);
        }
    }

    /** Called instead of IfController.getCondition. */
    public static String ofIf(Object controller) throws Throwable {
        return read(controller, Access.OF_IF, Kind.IF);
    }

    /** Called instead of WhileController.getCondition. */
    public static String ofWhile(Object controller) throws Throwable {
        return read(controller, Access.OF_WHILE, Kind.WHILE);
    }

    /** Called instead of SwitchController.getSelection. */
    public static String ofSwitch(Object controller) throws Throwable {
        return read(controller, Access.OF_SWITCH, Kind.SWITCH);
    }

    /** Called instead of Logger.error by an If Controller, whose condition is JavaScript that fails. */
    public static void error(Object logger, String text, Object[] values) throws Throwable {
        Access.ERROR.invoke(logger, text, values);
        GroupCounts.Group group = WarmUp.isOn() ? null : Users.group();
        if (group != null) {
            group.count("bad condition", (String) values[0]);
        }
    }

    /** Notes that a function failed; returns whether it is one of a condition. */
    static boolean fails() {
        boolean[] hasFailed = COMPUTED.get();
        if (hasFailed != null) {
            hasFailed[0] = true;
        }
        return hasFailed != null;
    }

    private enum Kind { IF, WHILE, SWITCH }

    private static String read(Object controller, MethodHandle method, Kind kind) throws Throwable {
        GroupCounts.Group group = WarmUp.isOn() ? null : Users.group();
        if (group == null) {
            return (String) method.invoke(controller);
        }
        boolean[] hasFailed = new boolean[1];
        COMPUTED.set(hasFailed);
        String text;
        try {
            text = (String) method.invoke(controller);
        } finally {
            COMPUTED.remove();
        }
        try {
            boolean isCode = kind == Kind.IF && !(boolean) Access.IS_TEXT.invoke(controller);
            String name = (String) Access.NAME.invoke(controller);
            group.count("condition", name);
            if (hasFailed[0] || !isCode && !isRead(kind, text.trim())) {
                group.count("bad condition", name);
            }
        } catch (Throwable failure) {
            // JMeter's thread goes on.
        }
        return text;
    }

    private static boolean isRead(Kind kind, String text) {
        if (FUNCTION.matcher(text).matches()) {
            return false;
        }
        boolean isWord = WORD.matcher(text).matches();
        return kind == Kind.SWITCH ? !text.contains("${") : isWord && !(kind == Kind.IF && YES.contains(text.toLowerCase()));
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        static final MethodHandle OF_IF = Handles.of(CONTROL + "IfController", "getCondition");
        static final MethodHandle IS_TEXT = Handles.of(CONTROL + "IfController", "isUseExpression");
        static final MethodHandle OF_WHILE = Handles.of(CONTROL + "WhileController", "getCondition");
        static final MethodHandle OF_SWITCH = Handles.of(CONTROL + "SwitchController", "getSelection");
        static final MethodHandle NAME = Handles.of("org.apache.jmeter.testelement.TestElement", "getName");
        static final MethodHandle ERROR = Handles.of("org/slf4j/Logger", "error", String.class, Object[].class);
    }
}
