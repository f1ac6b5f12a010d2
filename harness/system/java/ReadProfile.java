import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import jdk.jfr.EventType;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordingFile;

/**
 * Sums up recordings per second. {@code ReadProfile interval_ns [name file.jfr agent.jfr why …]} prints tab-separated lines:
 * agent.jfr is a recording of async-profiler, or empty with the reason why there is none.
 *
 * <p>{@code P process}; {@code R recorder why}, the recorder of methods; {@code S id frames}, where frames are separated by
 * ";" and the innermost comes first; {@code E kind second stack detail other count sum longest}, with the second since 1970,
 * and stack -1 for none; {@code T cpu period}, the time between two samples, such as 10 ms. docs/format.md has the kinds. A recording that cannot be read gives {@code X process reason}.
 */
public final class ReadProfile {
    private final Sums sums;
    private final Map<Long, Safepoint> safepoints = new HashMap<>();
    private final Set<Long> allocating = new HashSet<>();

    private long sampleType = -1;
    private String period = "";

    private ReadProfile(Sums sums) {
        this.sums = sums;
    }

    public static void main(String[] args) {
        var out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8)));
        long intervalNs = Long.parseLong(args[0]);
        for (int index = 1; index + 3 < args.length; index += 4) {
            var recorded = new Recorded(args[index], args[index + 1], args[index + 2], args[index + 3]);
            print(out, intervalNs, recorded);
        }
        out.flush();
    }

    /**
     * What was recorded of a process: the paths of its flight recording and of that of async-profiler. The second is empty
     * when async-profiler did not record it; noAgent is the reason.
     */
    private record Recorded(String process, String flightRecording, String agentRecording, String noAgent) { }

    private static void print(PrintWriter out, long intervalNs, Recorded recorded) {
        out.println("P\t" + recorded.process);
        var sums = new Sums(out);
        try {
            boolean hasAgent = !recorded.agentRecording.isEmpty();
            var samples = new AgentSamples(sums, intervalNs);
            if (hasAgent) {
                samples.read(Path.of(recorded.agentRecording));
            }
            String recorder = hasAgent ? "async-profiler, " + samples.engine() : "JFR";
            out.println("R\t" + recorder + "\t" + Names.clean(recorded.noAgent));
            String period = new ReadProfile(sums).read(Path.of(recorded.flightRecording));
            period = hasAgent ? samples.period() : period;
            if (!period.isEmpty()) {
                out.println("T\tcpu\t" + Names.clean(period));
            }
        } catch (IOException | RuntimeException error) {
            out.println("X\t" + recorded.process + "\t" + Names.clean(String.valueOf(error.getMessage())));
        }
        sums.print();
    }

    /** Adds the events of a recording and returns the time between two samples, such as 10 ms; empty if it has none. */
    private String read(Path recording) throws IOException {
        try (var file = new RecordingFile(recording)) {
            for (EventType type : file.readEventTypes()) {
                if (type.getName().equals("jdk.ExecutionSample")) {
                    sampleType = type.getId();
                }
            }
            while (file.hasMoreEvents()) {
                add(file.readEvent());
            }
        }
        safepoints.values().forEach(safepoint -> safepoint.addTo(sums));
        return period;
    }

    private void add(RecordedEvent event) {
        switch (event.getEventType().getName()) {
            case "jdk.ExecutionSample" -> count("cpu", event, Names.methods(event.getStackTrace()), "", "", 0);
            case "jdk.JavaMonitorEnter" ->
                lock(event, monitor(event), Names.thread(event.getValue("previousOwner")));
            case "jdk.ThreadPark" -> {
                if (waitsForLock(event.getStackTrace())) {
                    lock(event, type(event, "parkedClass"), "");
                }
            }
            case "jdk.ObjectAllocationSample" -> {
                // A sample represents all bytes since the previous one of its thread: the first also for those before the load.
                if (event.getThread() == null || !allocating.add(event.getThread().getId())) {
                    List<String> methods = Names.methods(event.getStackTrace());
                    count("alloc", event, methods, type(event, "objectClass"), "", event.getLong("weight"));
                }
            }
            case "jdk.JavaExceptionThrow", "jdk.JavaErrorThrow" -> {
                String thrown = type(event, "thrownClass");
                List<String> methods = withoutConstructors(Names.methods(event.getStackTrace()), thrown);
                if (methods.isEmpty() || !methods.get(0).equals("java.lang.Thread.getStackTrace")) {
                    count("throw", event, methods, thrown, "", 0);
                }
            }
            case "jdk.ActiveSetting" -> {
                if (event.getLong("id") == sampleType && "period".equals(event.getString("name"))) {
                    period = event.getString("value");
                }
            }
            case "jdk.GarbageCollection" -> {
                long longest = event.getDuration("longestPause").toNanos();
                long all = event.getDuration("sumOfPauses").toNanos();
                String collector = Names.clean(event.getString("name"));
                sums.add("gc", second(event), Sums.NO_STACK, collector, Names.clean(event.getString("cause")), 1, all, longest);
            }
            case "jdk.SafepointBegin" -> safepoint(event).begin = event.getStartTime();
            case "jdk.SafepointEnd" -> safepoint(event).end = event.getEndTime();
            case "jdk.ExecuteVMOperation" -> {
                if (event.getBoolean("safepoint")) {
                    safepoint(event).operation = Names.clean(event.getString("operation"));
                }
            }
            default -> { }
        }
    }

    /** A stop of all threads: from the request to them until they run again. */
    private static final class Safepoint {
        private Instant begin;
        private Instant end;
        private String operation = "";

        void addTo(Sums sums) {
            if (begin != null && end != null) {
                long ns = java.time.Duration.between(begin, end).toNanos();
                sums.add("safepoint", begin.getEpochSecond(), Sums.NO_STACK, operation, "", 1, ns, ns);
            }
        }
    }

    private Safepoint safepoint(RecordedEvent event) {
        return safepoints.computeIfAbsent(event.getLong("safepointId"), absent -> new Safepoint());
    }

    /** Returns the stack from the method that throws on: it begins with the constructors of the exception. */
    private static List<String> withoutConstructors(List<String> methods, String thrown) {
        int first = 0;
        for (int at = 0; at < methods.size() && methods.get(at).endsWith(".<init>"); at++) {
            if (methods.get(at).startsWith("java.lang.") || methods.get(at).equals(thrown + ".<init>")) {
                first = at + 1;
            }
        }
        return methods.subList(first, methods.size());
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

    /** One of Jetty's acceptors waits for a connection: the others wait for a lock, and have nothing to do. */
    private static boolean isAcceptor(RecordedFrame frame) {
        RecordedMethod method = frame.getMethod();
        return method != null && method.getType().getName().endsWith(".AbstractConnector$Acceptor");
    }

    private void lock(RecordedEvent event, String lock, String holder) {
        long ns = event.getDuration().toNanos();
        count("lock", event, Names.methods(event.getStackTrace()), lock, holder, ns);
        sums.add("blocked", second(event), Sums.NO_STACK, Names.thread(event.getThread()), "", 1, ns, ns);
    }

    private void count(String kind, RecordedEvent event, List<String> methods, String detail, String other, long value) {
        sums.add(kind, second(event), sums.stack(methods), detail, other, 1, value, value);
    }

    private static long second(RecordedEvent event) {
        return event.getStartTime().getEpochSecond();
    }

    /** Returns the class of a monitor. HotSpot locks an empty int array while it initializes a class. */
    private static String monitor(RecordedEvent event) {
        String name = type(event, "monitorClass");
        return name.equals("int[]") ? "(initialization of a class)" : name;
    }

    private static String type(RecordedEvent event, String field) {
        RecordedClass type = event.getValue(field);
        return Names.type(type);
    }
}
