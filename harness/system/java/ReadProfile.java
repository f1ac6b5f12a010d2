import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import jdk.jfr.EventType;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Sums up flight recordings per second: {@code ReadProfile name file.jfr [name file.jfr …]} prints tab-separated lines.
 *
 * <p>{@code P process}; {@code S id frames}, where frames are separated by ";" and the innermost comes first;
 * {@code E kind second stack detail other count sum longest}, with kind cpu, lock, alloc or gc, the second since 1970, and
 * stack -1 for none; {@code T cpu period}, the time between two samples, such as 10 ms. harness/system/profile.py has the
 * meaning of the fields. A recording that cannot be read gives {@code X process reason}.
 */
public final class ReadProfile {
    private static final Pattern LAMBDA = Pattern.compile("\\$\\$Lambda.*");
    private static final Pattern NUMBER = Pattern.compile("\\d+");
    private static final Pattern GENERATED = Pattern.compile("(Accessor|\\$Proxy|\\$\\$)\\d+");
    private static final int FRAMES_MAX = 256;

    private final PrintWriter out;
    private final Map<String, Integer> stacks = new HashMap<>();
    private final Map<String, long[]> sums = new LinkedHashMap<>();
    private long sampleType = -1;
    private String period = "";

    private ReadProfile(PrintWriter out) {
        this.out = out;
    }

    public static void main(String[] args) {
        var out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8)));
        for (int at = 0; at + 1 < args.length; at += 2) {
            new ReadProfile(out).process(args[at], Path.of(args[at + 1]));
        }
        out.flush();
    }

    private void process(String name, Path recording) {
        out.println("P\t" + name);
        try (var file = new RecordingFile(recording)) {
            for (EventType type : file.readEventTypes()) {
                if (type.getName().equals("jdk.ExecutionSample")) {
                    sampleType = type.getId();
                }
            }
            while (file.hasMoreEvents()) {
                add(file.readEvent());
            }
        } catch (IOException | RuntimeException error) {
            out.println("X\t" + name + "\t" + clean(String.valueOf(error.getMessage())));
        }
        if (!period.isEmpty()) {
            out.println("T\tcpu\t" + clean(period));
        }
        sums.forEach((key, sum) -> out.println("E\t" + key + "\t" + sum[0] + "\t" + sum[1] + "\t" + sum[2]));
    }

    private void add(RecordedEvent event) {
        switch (event.getEventType().getName()) {
            case "jdk.ExecutionSample" -> count("cpu", event, "", "", 0);
            case "jdk.JavaMonitorEnter" ->
                count("lock", event, monitor(event), thread(event, "previousOwner"), event.getDuration().toNanos());
            case "jdk.ThreadPark" -> {
                if (waitsForLock(event.getStackTrace())) {
                    count("lock", event, type(event, "parkedClass"), "", event.getDuration().toNanos());
                }
            }
            case "jdk.ObjectAllocationSample" ->
                count("alloc", event, type(event, "objectClass"), "", event.getLong("weight"));
            case "jdk.ActiveSetting" -> {
                if (event.getLong("id") == sampleType && "period".equals(event.getString("name"))) {
                    period = event.getString("value");
                }
            }
            case "jdk.GarbageCollection" -> {
                long longest = event.getDuration("longestPause").toNanos();
                long all = event.getDuration("sumOfPauses").toNanos();
                sum("gc", event, -1, clean(event.getString("name")), clean(event.getString("cause")), all, longest);
            }
            default -> { }
        }
    }

    /** A thread also parks while it has nothing to do: only those that try to acquire a synchronizer count. */
    private static boolean waitsForLock(RecordedStackTrace trace) {
        if (trace == null) {
            return false;
        }
        List<RecordedFrame> frames = trace.getFrames();
        if (frames.stream().anyMatch(ReadProfile::isAcceptor)) {
            return false;
        }
        for (RecordedFrame frame : frames) {
            RecordedMethod method = frame.getMethod();
            String type = method == null ? "" : method.getType().getName();
            if (type.endsWith(".AbstractQueuedSynchronizer") && method.getName().startsWith("acquire")) {
                return true;
            }
            if (!type.startsWith("jdk.internal.misc.") && !type.startsWith("java.util.concurrent.locks.")) {
                return false;
            }
            if (type.contains("ConditionObject")) {
                return false;
            }
        }
        return false;
    }

    /** Jetty's acceptors take turns in waiting for a connection: the others wait for a lock, and have nothing to do. */
    private static boolean isAcceptor(RecordedFrame frame) {
        RecordedMethod method = frame.getMethod();
        return method != null && method.getType().getName().endsWith(".AbstractConnector$Acceptor");
    }

    private void count(String kind, RecordedEvent event, String detail, String other, long value) {
        RecordedStackTrace trace = event.getStackTrace();
        sum(kind, event, trace == null ? -1 : stack(trace.getFrames()), detail, other, value, value);
    }

    private void sum(String kind, RecordedEvent event, int stack, String detail, String other, long value, long longest) {
        String key = kind + "\t" + event.getStartTime().getEpochSecond() + "\t" + stack + "\t" + detail + "\t" + other;
        long[] sum = sums.computeIfAbsent(key, absent -> new long[3]);
        sum[0]++;
        sum[1] += value;
        sum[2] = Math.max(sum[2], longest);
    }

    private int stack(List<RecordedFrame> frames) {
        var text = new StringBuilder();
        int number = 0;
        for (RecordedFrame frame : frames) {
            RecordedMethod method = frame.getMethod();
            if (method == null || ++number > FRAMES_MAX) {
                continue;
            }
            text.append(text.length() == 0 ? "" : ";").append(plain(method.getType().getName())).append('.').append(method.getName());
        }
        String key = text.toString();
        Integer known = stacks.get(key);
        if (known != null) {
            return known;
        }
        int id = stacks.size();
        stacks.put(key, id);
        out.println("S\t" + id + "\t" + key);
        return id;
    }

    /** Returns a class name without the numbers that differ from run to run. */
    private static String plain(String name) {
        return GENERATED.matcher(LAMBDA.matcher(name).replaceAll("\\$\\$Lambda")).replaceAll("$1");
    }

    /** Returns the class of a monitor. HotSpot locks an empty int array while it initializes a class. */
    private static String monitor(RecordedEvent event) {
        String name = type(event, "monitorClass");
        return name.equals("int[]") ? "(initialization of a class)" : name;
    }

    private static String type(RecordedEvent event, String field) {
        RecordedClass type = event.getValue(field);
        return type == null ? "" : plain(source(type.getName()));
    }

    /** Returns the name of a class as in source code: {@code byte[]} for {@code [B}. */
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

    /** Returns the name of a thread with * for its numbers: the threads of a pool are one. */
    private static String thread(RecordedEvent event, String field) {
        RecordedThread thread = event.getValue(field);
        String name = thread == null ? null : thread.getJavaName();
        return name == null ? "" : clean(NUMBER.matcher(name).replaceAll("*"));
    }

    private static String clean(String text) {
        return text == null ? "" : text.replaceAll("[\\t\\r\\n]", " ");
    }
}
