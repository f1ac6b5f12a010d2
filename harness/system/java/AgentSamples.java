import java.io.IOException;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Reads a recording of async-profiler: samples of CPU time, and samples of what every thread does, busy or not.
 *
 * <p>The latter give {@code thread} events: the pool as detail, {@code run}, {@code wait} or {@code idle} as other. Their
 * value is the time that they represent, ns. A waiting thread has a stack of two methods: the innermost, and the
 * innermost outside of Java's own packages.
 */
final class AgentSamples {
    private static final long NS_PER_S = 1_000_000_000;
    /** Frames of native code; native methods of Java classes have other types. */
    private static final Set<String> NATIVE = Set.of("Native", "C++", "Kernel");

    private final Sums sums;
    private final ThreadTimes times;
    private final long intervalNs;
    private final Map<Long, Integer> threads = new HashMap<>();
    private final Map<String, BitSet> seen = new HashMap<>();
    private String engine = "";
    private String period = "";
    private long events;

    AgentSamples(Sums sums, ThreadTimes times, long intervalNs) {
        this.sums = sums;
        this.times = times;
        this.intervalNs = intervalNs;
    }

    /** Returns how CPU time was sampled, such as ctimer. */
    String engine() {
        return engine;
    }

    /** Returns the CPU time between two samples, such as 10 ms. */
    String period() {
        return period;
    }

    /** Returns how many samples the recording has. */
    long events() {
        return events;
    }

    /** Adds the samples of a recording. */
    void read(Path recording) throws IOException {
        try (var file = new RecordingFile(recording)) {
            while (file.hasMoreEvents()) {
                add(file.readEvent());
                events++;
            }
        }
        addPools();
    }

    private void add(RecordedEvent event) {
        switch (event.getEventType().getName()) {
            case "jdk.ExecutionSample" -> {
                List<String> methods = Names.methods(event.getStackTrace(), NATIVE);
                int stack = sums.stack(methods.isEmpty() ? List.of(ofJvm(event.getValue("sampledThread"))) : methods);
                sums.add("cpu", event.getStartTime().getEpochSecond(), stack, "", "", 1, 0, 0);
                if (!methods.isEmpty()) {
                    times.cpu(times.id(event.getValue("sampledThread")), methods, ReadProfile.us(event.getStartTime()));
                }
            }
            case "profiler.WallClockSample" -> addThread(event);
            case "jdk.ActiveSetting" -> {
                String name = event.getString("name");
                if (name.equals("engine")) {
                    engine = Names.clean(event.getString("value"));
                } else if (name.equals("interval")) {
                    period = Long.parseLong(event.getString("value")) / 1_000_000 + " ms";
                }
            }
            default -> { }
        }
    }

    /** One event represents all samples of a thread while it slept: they are spread over their seconds. */
    private void addThread(RecordedEvent event) {
        String pool = Names.thread(event.getValue("sampledThread"));
        List<String> methods = Names.methods(event.getStackTrace(), NATIVE);
        if (pool.isEmpty() || methods.isEmpty()) {
            return; // a thread of the JVM itself
        }
        boolean isRunning = !event.getString("state").contains("SLEEPING");
        String own = methods.stream().filter(Waits::isOwn).findFirst().orElse("");
        boolean isIdle = !isRunning && Waits.isIdle(methods);
        int stack = isRunning || isIdle ? Sums.NO_STACK : sums.stack(List.of(methods.get(0), own));
        String state = isRunning ? "run" : isIdle ? "idle" : "wait";
        long startNs = event.getStartTime().getEpochSecond() * NS_PER_S + event.getStartTime().getNano();
        long samples = event.getLong("samples");
        RecordedThread thread = event.getValue("sampledThread");
        int index = threads.computeIfAbsent(thread.getOSThreadId(), absent -> threads.size());
        for (long number = 0; number < samples; number++) {
            long second = (startNs + number * intervalNs) / NS_PER_S;
            sums.add("thread", second, stack, pool, state, 1, intervalNs, 0);
            seen.computeIfAbsent(second + "\t" + pool, absent -> new BitSet()).set(index);
        }
    }

    /** A busy machine takes fewer samples: the number of threads in a second is counted. */
    private void addPools() {
        seen.forEach((key, found) -> {
            int tab = key.indexOf('\t');
            long second = Long.parseLong(key.substring(0, tab));
            sums.add("pool", second, Sums.NO_STACK, key.substring(tab + 1), "", found.cardinality(), 0, 0);
        });
    }

    /** Returns what a thread does that runs no Java method. */
    private static String ofJvm(RecordedThread thread) {
        String name = thread == null || thread.getOSName() == null ? "" : thread.getOSName();
        if (name.startsWith("GC ") || name.startsWith("G1 ") || name.startsWith("Par") || name.startsWith("Shenandoah")
                || name.startsWith("ZDirector") || name.startsWith("ZDriver") || name.startsWith("ZWorker")) {
            return "(garbage collector)";
        }
        if (name.startsWith("C1 ") || name.startsWith("C2 ")) {
            return "(compiler of the JVM)";
        }
        return name.startsWith("VM ") ? "(virtual machine)" : "(native code)";
    }
}
