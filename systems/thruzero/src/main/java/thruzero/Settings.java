package thruzero;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** What the site was started with: system properties that begin with "thruzero.", all of them required. */
public record Settings(
        int port,
        int maxThreads,
        int acceptCount,
        int maxConnections,
        int connectionTimeoutMs,
        int keepAliveTimeoutMs,
        int storeConnections,
        double storeQueryMs,
        int storeTimeoutMs,
        String feedsUrl,
        int feedTimeoutMs,
        int feedRefreshS,
        Set<Fault> faults) {

    /** Returns the settings; IllegalArgumentException names a wrong one, and its valid values. */
    public static Settings ofSystem() {
        return new Settings(
                Integer.parseInt(property("port")),
                Integer.parseInt(property("maxThreads")),
                Integer.parseInt(property("acceptCount")),
                Integer.parseInt(property("maxConnections")),
                Integer.parseInt(property("connectionTimeoutMs")),
                Integer.parseInt(property("keepAliveTimeoutMs")),
                Integer.parseInt(property("storeConnections")),
                Double.parseDouble(property("storeQueryMs")),
                Integer.parseInt(property("storeTimeoutMs")),
                property("feedsUrl"),
                Integer.parseInt(property("feedTimeoutMs")),
                Integer.parseInt(property("feedRefreshS")),
                faults(property("faults")));
    }

    /** Returns whether the fault was switched on. */
    public boolean has(Fault fault) {
        return faults.contains(fault);
    }

    private static Set<Fault> faults(String text) {
        Set<Fault> faults = EnumSet.noneOf(Fault.class);
        for (String name : text.split(",")) {
            if (!name.isBlank()) {
                faults.add(Fault.named(name.strip()));
            }
        }
        return faults;
    }

    private static String property(String name) {
        String value = System.getProperty("thruzero." + name);
        if (value == null) {
            throw new IllegalArgumentException("the system property thruzero." + name + " is missing");
        }
        return value;
    }

    /** A fault of the site that was load-tested, which can be had back. */
    public enum Fault {
        /** One filter chain for all requests, in a service that should keep nothing of a request. */
        SHARED_FILTER_CHAIN("shared-filter-chain"),
        /** Feeds are read within the request, one after the other, without a time-out or a lock. */
        SEQUENTIAL_FEEDS("sequential-feeds");

        private final String name;

        Fault(String name) {
            this.name = name;
        }

        static Fault named(String name) {
            for (Fault fault : values()) {
                if (fault.name.equals(name)) {
                    return fault;
                }
            }
            List<String> known = Arrays.stream(values()).map(fault -> fault.name).toList();
            throw new IllegalArgumentException(
                    "faults: there is no fault '" + name + "'; there is: " + String.join(", ", known));
        }
    }
}
