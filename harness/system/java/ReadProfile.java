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
import jdk.jfr.consumer.RecordingFile;

/**
 * Sums up recordings per second. {@code ReadProfile interval_ns [name file.jfr agent.jfr why threads.tsv delays.tsv …]} prints tab-separated
 * lines: agent.jfr is a recording of async-profiler, or empty with the reason why there is none; threads.tsv has samples of
 * virtual threads and delays.tsv the waits of threads for a CPU; both may be empty.
 *
 * <p>{@code P process}; {@code R recorder why}, the recorder of methods; {@code S id frames}, where frames are separated by
 * ";" and the innermost comes first; {@code E kind second stack detail other count sum longest}, with the second since 1970,
 * and stack -1 for none; {@code M recorder events}; {@code T cpu period}, the time between two samples, such as 10 ms. docs/format.md has the kinds.
 * {@code V …} is about virtual threads (VirtualThreads), and N, W, C, L, H and Q about single ones (ThreadTimes). A recording that cannot be read gives {@code X process reason}.
 */
public final class ReadProfile {
    private static final long NS_PER_US = 1_000, US_PER_S = 1_000_000, NS_LEAST = 1_000_000;

    private final Sums sums;
    private final ThreadTimes times;
    private final Map<Long, Safepoint> safepoints = new HashMap<>();
    private final Set<Long> allocating = new HashSet<>();

    private long sampleType = -1;
    private String period = "";
    private long events;

    private ReadProfile(Sums sums, ThreadTimes times) {
        this.sums = sums;
        this.times = times;
    }

    public static void main(String[] args) {
        var out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8)));
        long intervalNs = Long.parseLong(args[0]);
        for (int at = 1; at + 5 < args.length; at += 6) {
            print(out, intervalNs, new Recorded(args[at], args[at + 1], args[at + 2], args[at + 3], args[at + 4], args[at + 5]));
        }
        out.flush();
    }

    /**
     * What was recorded of a process: the paths of its flight recording and of that of async-profiler. The second is empty
     * when async-profiler did not record it; noAgent is the reason. The last are those of the samples of virtual threads and of waits for a CPU, or empty.
     */
    private record Recorded(
            String process, String flightRecording, String agentRecording, String noAgent, String virtual, String delays) { }

    private static void print(PrintWriter out, long intervalNs, Recorded recorded) {
        out.println("P\t" + recorded.process);
        var sums = new Sums(out);
        try {
            boolean hasAgent = !recorded.agentRecording.isEmpty();
            var times = new ThreadTimes(out);
            var samples = new AgentSamples(sums, times, intervalNs);
            if (hasAgent) {
                samples.read(Path.of(recorded.agentRecording));
            }
            String recorder = hasAgent ? "async-profiler, " + samples.engine() : "JFR";
            out.println("R\t" + recorder + "\t" + Names.clean(recorded.noAgent));
            var reader = new ReadProfile(sums, times);
            String period = reader.read(Path.of(recorded.flightRecording));
            out.println("M\tJFR\t" + reader.events);
            if (hasAgent) {
                out.println("M\tasync-profiler\t" + samples.events());
            }
            out.println("V\t" + new VirtualThreads(sums, times).read(recorded.virtual));
            if (!recorded.delays.isEmpty()) {
                times.printDelays(Path.of(recorded.delays));
            }
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
                events++;
            }
        }
        safepoints.values().forEach(safepoint -> safepoint.addTo(sums, times));
        return period;
    }

    private void add(RecordedEvent event) {
        switch (event.getEventType().getName()) {
            case "jdk.ExecutionSample" -> {
                List<String> methods = Names.methods(event.getStackTrace());
                count("cpu", event, methods, "", "", 0);
                times.cpu(times.id(event.getValue("sampledThread")), methods, us(event.getStartTime()));
            }
            case "jdk.JavaMonitorEnter" ->
                wait(event, Waits.LOCK, monitor(event), Names.thread(event.getValue("previousOwner")));
            case "jdk.ThreadPark" -> wait(event, "", type(event, "parkedClass"), "");
            case "jdk.JavaMonitorWait" -> wait(event, Waits.CONDITION, type(event, "monitorClass"), "");
            case "jdk.ThreadSleep" -> wait(event, Waits.SLEEP, "", "");
            case "jdk.SocketRead" -> wait(event, Waits.IO, "", "");
            case "jdk.VirtualThreadStart" -> times.begins(event.getLong("javaThreadId"), us(event.getStartTime()));
            case "jdk.VirtualThreadEnd" -> times.ends(event.getLong("javaThreadId"), us(event.getStartTime()));
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

        void addTo(Sums sums, ThreadTimes times) {
            if (begin != null && end != null) {
                long ns = java.time.Duration.between(begin, end).toNanos();
                times.recorded(ThreadTimes.ALL_THREADS, "", "stop", operation, us(begin), ns / NS_PER_US);
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

    private void wait(RecordedEvent event, String known, String blocker, String holder) {
        List<String> methods = Names.methods(event.getStackTrace());
        String kind = Waits.kind(methods, blocker, known);
        String pool = Names.thread(event.getThread());
        var wait = new Waits(kind, blocker, holder, pool.isEmpty() ? VirtualThreads.NAME : pool, methods);
        long ns = event.getDuration().toNanos();
        if (ns < NS_LEAST && !kind.equals(Waits.IDLE)) {
            return;
        }
        wait.addTo(sums, second(event), 1, ns, ns);
        // A carrier's time is that of the virtual thread which it runs, and fits a request as well.
        if (!Names.isCarrier(event.getThread())) {
            times.recorded(times.id(event.getThread()), wait.pool(), kind, wait.name(), us(event.getStartTime()), ns / NS_PER_US);
        }
    }

    static long us(Instant instant) {
        return instant.getEpochSecond() * US_PER_S + instant.getNano() / NS_PER_US;
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
