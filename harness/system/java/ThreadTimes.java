import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Prints what single threads did and when: {@code N id kind name}, {@code W thread id start_us length_us}, a wait;
 * {@code C thread id at_us}, a sample of CPU time; {@code L thread start_us end_us}, the life of a virtual thread. Thread -1
 * is all threads, which the JVM stopped.
 */
final class ThreadTimes {
    static final long ALL_THREADS = -1;
    private static final long US_LEAST = 1_000;

    private final PrintWriter out;
    private final Map<String, Integer> names = new HashMap<>();
    private final Map<Long, Long> began = new HashMap<>();
    private final Map<Long, List<long[]>> recorded = new HashMap<>();
    private int mostAlive;

    ThreadTimes(PrintWriter out) {
        this.out = out;
    }

    /** Adds a wait that was recorded from its start to its end. */
    void recorded(long thread, String kind, String name, long startUs, long lengthUs) {
        if (lengthUs >= US_LEAST) {
            print(thread, kind, name, startUs, lengthUs);
            if (thread != ALL_THREADS) {
                recorded.computeIfAbsent(thread, absent -> new ArrayList<>()).add(new long[] {startUs, startUs + lengthUs});
            }
        }
    }

    /** Adds a wait that was seen in samples, unless most of it was recorded; returns whether it was added. */
    boolean sampled(long thread, String kind, String name, long startUs, long lengthUs) {
        long known = 0;
        for (long[] one : recorded.getOrDefault(thread, List.of())) {
            known += Math.max(0, Math.min(one[1], startUs + lengthUs) - Math.max(one[0], startUs));
        }
        if (2 * known > lengthUs) {
            return false;
        }
        print(thread, kind, name, startUs, lengthUs);
        return true;
    }

    void cpu(long thread, List<String> methods, long atUs) {
        out.println("C\t" + thread + "\t" + id("cpu", Waits.place(methods)) + "\t" + atUs);
    }

    void begins(long thread, long atUs) {
        began.put(thread, atUs);
        mostAlive = Math.max(mostAlive, began.size());
    }

    /** Returns how many virtual threads that started during the recording were there at a time, at most. */
    int mostAlive() {
        return mostAlive;
    }

    void ends(long thread, long atUs) {
        Long startUs = began.remove(thread);
        if (startUs != null) {
            out.println("L\t" + thread + "\t" + startUs + "\t" + atUs);
        }
    }

    private void print(long thread, String kind, String name, long startUs, long lengthUs) {
        out.println("W\t" + thread + "\t" + id(kind, name) + "\t" + startUs + "\t" + lengthUs);
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
