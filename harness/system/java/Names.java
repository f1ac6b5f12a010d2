import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;

/** Names of classes, methods and threads, without the numbers that differ from run to run. */
final class Names {
    private static final Pattern LAMBDA = Pattern.compile("\\$\\$Lambda.*");
    private static final Pattern NUMBER = Pattern.compile("\\d+");
    private static final Pattern GENERATED = Pattern.compile("(Accessor|\\$Proxy|\\$\\$)\\d+");
    private static final int FRAMES_MAX = 256;

    private Names() {}

    /** Returns class and method of the frames, the innermost first. */
    static List<String> methods(RecordedStackTrace trace) {
        return methods(trace, Set.of());
    }

    /** Returns class and method of the frames but for those of some types, the innermost first. */
    static List<String> methods(RecordedStackTrace trace, Set<String> leftOut) {
        List<String> found = new ArrayList<>();
        if (trace == null) {
            return found;
        }
        for (RecordedFrame frame : trace.getFrames()) {
            RecordedMethod method = frame.getMethod();
            if (method == null || leftOut.contains(frame.getType())) {
                continue;
            }
            if (found.size() == FRAMES_MAX) {
                break;
            }
            found.add(plain(method.getType().getName()) + "." + method.getName());
        }
        return found;
    }

    static String plain(String name) {
        return GENERATED.matcher(LAMBDA.matcher(name).replaceAll("\\$\\$Lambda")).replaceAll("$1");
    }

    /** Returns the name of a class as in source code: {@code byte[]} for {@code [B}; empty for none. */
    static String type(RecordedClass type) {
        return type == null ? "" : plain(source(type.getName()));
    }

    private static String source(String name) {
        int depth = 0;
        while (depth < name.length() && name.charAt(depth) == '[') {
            depth++;
        }
        if (depth == 0) {
            return name;
        }
        String element = name.substring(depth);
        String plain = switch (element) {
            case "B" -> "byte";
            case "C" -> "char";
            case "D" -> "double";
            case "F" -> "float";
            case "I" -> "int";
            case "J" -> "long";
            case "S" -> "short";
            case "Z" -> "boolean";
            default -> element.startsWith("L") && element.endsWith(";") ? element.substring(1, element.length() - 1) : element;
        };
        return plain + "[]".repeat(depth);
    }

    /** Whether a thread runs virtual threads. */
    static boolean isCarrier(RecordedThread thread) {
        return thread != null && thread.getThreadGroup() != null && "CarrierThreads".equals(thread.getThreadGroup().getName());
    }

    /** Returns the name of a thread with * for its numbers: the threads of a pool are one. Empty if not known. */
    static String thread(RecordedThread thread) {
        String name = thread == null ? null : thread.getJavaName();
        return name == null ? "" : clean(NUMBER.matcher(name).replaceAll("*"));
    }

    static String clean(String text) {
        return text == null ? "" : text.replaceAll("[\\t\\r\\n]", " ");
    }
}
