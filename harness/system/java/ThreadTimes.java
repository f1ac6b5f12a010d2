import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import jdk.jfr.consumer.RecordedThread;

/**
 * Prints what single threads did and when: {@code N id kind name}, {@code W thread id start_us length_us}, a wait;
 * {@code D …}, the same from thread dumps, which also have threads that run;
 * {@code C thread id at_us}, a sample of CPU time; {@code L thread start_us end_us}, the life of a virtual thread;
 * {@code A at_us}, a dump; {@code H thread pool}; {@code Q}, its waits for a CPU. Thread -1 is all threads, which the JVM stopped.
 */
final class ThreadTimes {
    static final long ALL_THREADS = -1;
    private static final long US_LEAST = 1_000;

    private final PrintWriter out;
    private final Map<String, Integer> names = new HashMap<>();
    private final Map<Long, Long> began = new HashMap<>();
    private final Map<Long, Long> ended = new HashMap<>();
    private final Map<Long, List<long[]>> recorded = new HashMap<>();
    private final Map<Long, Long> ofSystem = new HashMap<>();
    private final Set<Long> known = new HashSet<>();

    ThreadTimes(PrintWriter out) {
        this.out = out;
    }

    /** Adds a wait that was recorded from its start to its end. */
    void recorded(long thread, String pool, String kind, String name, long startUs, long lengthUs) {
        if (lengthUs >= US_LEAST || kind.equals(Waits.IDLE)) {
            print("W", thread, pool, kind, name, startUs, lengthUs);
            if (thread != ALL_THREADS) {
                recorded.computeIfAbsent(thread, absent -> new ArrayList<>()).add(new long[] {startUs, startUs + lengthUs});
            }
        }
    }

    /** Adds what was seen in dumps, a wait or running, unless most of it was recorded; returns whether it was added. */
    boolean sampled(long thread, String pool, String kind, String name, long startUs, long lengthUs) {
        long known = 0;
        for (long[] one : recorded.getOrDefault(thread, List.of())) {
            known += Math.max(0, Math.min(one[1], startUs + lengthUs) - Math.max(one[0], startUs));
        }
        if (2 * known > lengthUs) {
            return false;
        }
        print("D", thread, pool, kind, name, startUs, lengthUs);
        return true;
    }

    void dumped(long atUs) {
        out.println("A\t" + atUs);
    }

    void cpu(long thread, List<String> methods, long atUs) {
        out.println("C\t" + thread + "\t" + id("cpu", Waits.place(methods)) + "\t" + atUs);
    }

    /** Returns the number of a Java thread, -2 if not known. */
    long id(RecordedThread thread) {
        if (thread == null || thread.getJavaThreadId() <= 0) {
            return -2;
        }
        if (thread.getOSThreadId() > 0) {
            ofSystem.put(thread.getOSThreadId(), thread.getJavaThreadId());
        }
        return thread.getJavaThreadId();
    }

    /** Prints {@code Q thread from_us to_us delay_us} for a file with lines of threads of the operating system; one first. */
    void printDelays(Path path) throws IOException {
        out.println("Q\t" + ALL_THREADS + "\t0\t0\t0"); // no thread may have waited
        for (String line : Files.readAllLines(path)) {
            int tab = line.indexOf('\t');
            Long thread = tab < 0 ? null : ofSystem.get(Long.parseLong(line.substring(0, tab)));
            if (thread != null) {
                out.println("Q\t" + thread + line.substring(tab));
            }
        }
    }

    void begins(long thread, long atUs) {
        began.put(thread, atUs);
    }

    void ends(long thread, long atUs) {
        ended.put(thread, atUs);
    }

    /**
     * Prints the lives of virtual threads, when all events were read: their ends may come before their starts. Returns how
     * many there were at a time, at most.
     */
    int printLives() {
        List<long[]> changes = new ArrayList<>();
        began.forEach((thread, startUs) -> {
            changes.add(new long[] {startUs, 1});
            Long endUs = ended.get(thread);
            if (endUs != null) {
                changes.add(new long[] {endUs, -1});
                out.println("L\t" + thread + "\t" + startUs + "\t" + endUs);
            }
        });
        changes.sort(Comparator.comparingLong(change -> change[0]));
        int alive = 0;
        int most = 0;
        for (long[] change : changes) {
            alive += (int) change[1];
            most = Math.max(most, alive);
        }
        return most;
    }

    private void print(String letter, long thread, String pool, String kind, String name, long startUs, long lengthUs) {
        if (known.add(thread)) {
            out.println("H\t" + thread + "\t" + pool);
        }
        out.println(letter + "\t" + thread + "\t" + id(kind, name) + "\t" + startUs + "\t" + lengthUs);
    }

    private int id(String kind, String name) {
        String key = kind + "\t" + name;
        Integer known = names.get(key);
        if (known != null) {
            return known;
        }
        int id = names.size();
        names.put(key, id);
        out.println("N\t" + id + "\t" + key);
        return id;
    }
}
