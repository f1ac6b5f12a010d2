import java.io.PrintWriter;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Sums up the events of one process per second; prints call stacks when they appear first, and the sums at the end. */
final class Sums {
    static final int NO_STACK = -1;

    private final PrintWriter out;
    private final Map<String, Integer> stacks = new HashMap<>();
    private final Map<String, long[]> sums = new LinkedHashMap<>();

    Sums(PrintWriter out) {
        this.out = out;
    }

    /** Adds `count` events of one second that have the same stack and texts; `value` is the sum of theirs. */
    void add(String kind, long second, int stack, String detail, String other, long count, long value, long longest) {
        String key = kind + "\t" + second + "\t" + stack + "\t" + detail + "\t" + other;
        long[] sum = sums.computeIfAbsent(key, absent -> new long[3]);
        sum[0] += count;
        sum[1] += value;
        sum[2] = Math.max(sum[2], longest);
    }

    /** Returns the number of a call stack, the innermost method first. */
    int stack(List<String> methods) {
        if (methods.isEmpty()) {
            return NO_STACK;
        }
        String key = String.join(";", methods);
        Integer known = stacks.get(key);
        if (known != null) {
            return known;
        }
        int id = stacks.size();
        stacks.put(key, id);
        out.println("S\t" + id + "\t" + key);
        return id;
    }

    void print() {
        sums.forEach((key, sum) -> out.println("E\t" + key + "\t" + sum[0] + "\t" + sum[1] + "\t" + sum[2]));
    }
}
