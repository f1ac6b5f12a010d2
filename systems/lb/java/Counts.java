import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/** The number of requests and connections of each back-end since the last reset. */
final class Counts {
    private final LongAdder[] requests;
    private final LongAdder[] connections;

    Counts(int backendCount) {
        requests = adders(backendCount);
        connections = adders(backendCount);
    }

    private static LongAdder[] adders(int count) {
        LongAdder[] adders = new LongAdder[count];
        Arrays.setAll(adders, index -> new LongAdder());
        return adders;
    }

    void connected(int backend) {
        connections[backend].increment();
    }

    void requested(int backend) {
        requests[backend].increment();
    }

    void reset() {
        Arrays.stream(requests).forEach(LongAdder::reset);
        Arrays.stream(connections).forEach(LongAdder::reset);
    }

    /**
     * Returns the counts as JSON: per back-end in lists, and as texts that a report shows. {@code most_apart} is the
     * largest count of requests less the smallest: at most a few under round robin.
     */
    String json() {
        long[] counted = Arrays.stream(requests).mapToLong(LongAdder::sum).toArray();
        long[] opened = Arrays.stream(connections).mapToLong(LongAdder::sum).toArray();
        long total = Arrays.stream(counted).sum();
        String shares = Arrays.stream(counted)
                .mapToObj(count -> String.format(Locale.ROOT, "%d (%.1f %%)", count, total == 0 ? 0.0 : 100.0 * count / total))
                .collect(Collectors.joining(", "));
        long apart = Arrays.stream(counted).max().orElse(0) - Arrays.stream(counted).min().orElse(0);
        return String.format(Locale.ROOT, "{\"requests\": %s, \"connections\": %s, \"total\": %d, \"shares\": \"%s\", "
                + "\"most_apart\": %d, \"connection_total\": %d}\n", Arrays.toString(counted), Arrays.toString(opened), total,
                shares, apart, Arrays.stream(opened).sum());
    }
}
