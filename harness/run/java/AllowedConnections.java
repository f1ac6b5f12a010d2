import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A Java agent that restricts the connections of a JVM to allowed hosts; loopback addresses are always allowed.
 *
 * The agent's argument is {@code file=host:port,host:0,…}: port 0 is any port, IPv6 addresses are in brackets. An attempt
 * to reach another address throws a ConnectException and adds a line to the file, up to {@link #MOST_LINES}. The agent
 * writes the file's first line when it starts. Every TCP connection of Java, of sockets, channels and asynchronous channels, passes
 * {@code sun.nio.ch.Net.connect}, and every datagram that or its channel's {@code send}. A connection through a proxy also
 * passes {@code SocksSocketImpl}, with the address behind the proxy. Pings pass {@code isReachable}. Native code and
 * processes that the JVM starts are restricted from outside: harness/run/network.
 */
public final class AllowedConnections {
    private static final int MOST_LINES = 1000;
    /** As the port of an address that is pinged. */
    private static final int PING = -1;
    private static final long RETRY_NS = 1_000_000_000L;
    /** So long the agent waits until the kernel lets a resolved address pass. */
    private static final long PASS_MOST_NS = 2_000_000_000L;

    private static Path file;
    private static volatile List<Allowed> allowed = List.of();
    private static volatile String names;
    private static int lineCount;

    private AllowedConnections() {}

    public static void premain(String argument, Instrumentation instrumentation) throws Exception {
        int split = argument.lastIndexOf('=');
        file = Path.of(argument.substring(0, split)).toAbsolutePath();
        names = argument.substring(split + 1);
        allowed = parsed(names);
        useChannels();
        patch(instrumentation, "sun.nio.ch.Net", "connect", "Ljava/net/InetAddress;", true);
        patch(instrumentation, "sun.nio.ch.DatagramChannelImpl", "send", "Ljava/net/InetSocketAddress;", false);
        for (String type : List.of("java.net.SocksSocketImpl", "java.net.HttpConnectSocketImpl")) {
            patch(instrumentation, type, "connect", "Ljava/net/SocketAddress;", false);
        }
        for (String type : List.of("java.net.Inet4AddressImpl", "java.net.Inet6AddressImpl")) {
            patch(instrumentation, type, "isReachable", "Ljava/net/InetAddress;", false);
        }
        Amounts.install(instrumentation);
        Conditions.install(instrumentation);
        DeadUsers.install(instrumentation);
        EndedData.install(instrumentation);
        Environment.install(instrumentation);
        Exchanges.install(instrumentation);
        Extractions.install(instrumentation);
        FailedScripts.install(instrumentation);
        IgnoredResults.install(instrumentation);
        JexlRules.install(instrumentation);
        JobThreads.install(instrumentation);
        Locks.install(instrumentation);
        OpenArrivals.install(instrumentation);
        ReadBuffers.install(instrumentation);
        Redirects.install(instrumentation);
        Repeats.install(instrumentation);
        ResultFlush.install(instrumentation);
        SamplerSwitch.install(instrumentation);
        ScriptTimes.install(instrumentation);
        StartTime.install(instrumentation);
        WarmUp.install(instrumentation); // after it, so that its call comes before
        TimerWaker.install(instrumentation);
        TraceIds.install(instrumentation);
        UnsetVariables.install(instrumentation);
        Users.install(instrumentation);
        ZoneNames.install(instrumentation);
        if (!names.isEmpty() && Files.notExists(file)) { // a Java process that the plan starts has the same environment, and must not overwrite the file
            Files.writeString(file, "allowed: this machine, " + names + "\n");
        }
    }

    /** Java 17 also has sockets without channels. It reads once whether they are used; by default they are not. */
    private static void useChannels() throws ClassNotFoundException {
        for (String name : List.of("jdk.net.usePlainSocketImpl", "jdk.net.usePlainDatagramSocketImpl")) {
            System.clearProperty(name);
        }
        Class.forName("java.net.SocketImpl");
        Class.forName("java.net.DatagramSocket");
    }

    /** Returns the file with the refused attempts. */
    public static Path list() {
        return file;
    }

    private static List<Allowed> parsed(String entries) {
        List<Allowed> found = new ArrayList<>();
        for (String entry : entries.isEmpty() ? new String[0] : entries.split(",")) {
            int colon = entry.lastIndexOf(':');
            String host = entry.substring(0, colon).replaceAll("[\\[\\]]", "");
            found.add(new Allowed(host, Integer.parseInt(entry.substring(colon + 1))));
        }
        return List.copyOf(found);
    }

    private static void patch(
            Instrumentation instrumentation, String type, String method, String parameter, boolean withInt) throws Exception {
        new MethodPatch(method, parameter, withInt, "AllowedConnections", "check")
                .retransform(instrumentation, Class.forName(type));
    }

    /** Called by the patched methods. */
    public static void check(InetAddress address, int port) throws IOException {
        if (address == null || address.isLoopbackAddress()) {
            return;
        }
        for (Allowed one : allowed) {
            if (one.has(address, port)) {
                return;
            }
        }
        String refused = text(address, port);
        write(refused);
        throw new ConnectException(
                "refused by the load test: " + refused + " is not an allowed host of this run (this machine, " + names + ")");
    }

    /** Called by the patched methods that ping an address. */
    public static void check(InetAddress address) throws IOException {
        check(address, PING);
    }

    /** Called by the patched methods that may connect through a proxy: it would look up the name of the address. */
    public static void check(SocketAddress address) throws IOException {
        if (address instanceof InetSocketAddress internet) {
            if (internet.isUnresolved() && allowed.stream().noneMatch(one -> one.isNamed(internet))) {
                throw new UnknownHostException(internet.getHostString());
            }
            check(internet);
        }
    }

    /** Called by the patched methods. */
    public static void check(InetSocketAddress address) throws IOException {
        if (address != null) {
            check(address.getAddress(), address.getPort());
        }
    }

    private static String text(InetAddress address, int port) {
        String[] parts = address.toString().split("/", 2); // name/address, without name resolution
        String host = parts[1].contains(":") ? "[" + parts[1] + "]" : parts[1];
        return host + (port == PING ? " ping" : ":" + port) + (parts[0].isEmpty() || parts[0].equals(parts[1]) ? "" : " (" + parts[0] + ")");
    }

    private static synchronized void write(String refused) throws IOException {
        if (lineCount < MOST_LINES) {
            lineCount++;
            Files.writeString(file, refused + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }
    }

    /**
     * Has the kernel let the addresses of an allowed host pass, where it refuses others: a name may have other addresses
     * each time that it is looked up. The harness lists those that pass in known-addresses.txt, and reads what the agent
     * adds to asked-addresses.txt; see harness/run/network/watch.py.
     */
    private static void awaitPassing(List<InetAddress> addresses, int port) {
        Path known = file.resolveSibling("known-addresses.txt");
        try {
            List<String> asked = new ArrayList<>();
            for (InetAddress address : addresses) {
                asked.add(address.getHostAddress().replaceFirst("%.*", "") + " " + port);
            }
            asked.removeAll(passing(known));
            if (asked.isEmpty() || Files.notExists(known)) {
                return;
            }
            Files.write(file.resolveSibling("asked-addresses.txt"), asked, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            long untilNs = System.nanoTime() + PASS_MOST_NS;
            while (Files.exists(known) && !passing(known).containsAll(asked) && System.nanoTime() < untilNs) {
                Thread.sleep(5);
            }
        } catch (IOException error) {
            // The kernel then refuses what it does not know.
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private static List<String> passing(Path known) throws IOException {
        List<String> lines = new ArrayList<>();
        for (String line : Files.exists(known) ? Files.readAllLines(known) : List.<String>of()) {
            int blank = line.indexOf(' ');
            lines.add(InetAddress.getByName(line.substring(0, blank)).getHostAddress() + line.substring(blank));
        }
        return lines;
    }

    /** An allowed host, given by its name or address. */
    private static final class Allowed {
        private final String host;
        private final int port;
        private final Set<InetAddress> addresses = ConcurrentHashMap.newKeySet();
        private long resolvedNs;
        private boolean wasResolved;

        Allowed(String host, int port) {
            this.host = host;
            this.port = port;
        }

        boolean has(InetAddress address, int otherPort) {
            return (port == 0 || port == otherPort || otherPort == PING) && (addresses.contains(address) || resolved().contains(address));
        }

        boolean isNamed(InetSocketAddress address) {
            return (port == 0 || port == address.getPort()) && host.equalsIgnoreCase(address.getHostString());
        }

        /** Returns all addresses so far; Java caches a name for 30 s, and later addresses are added. */
        private synchronized Set<InetAddress> resolved() {
            if (!wasResolved || System.nanoTime() - resolvedNs > RETRY_NS) {
                wasResolved = true;
                resolvedNs = System.nanoTime();
                try {
                    List<InetAddress> found = Arrays.asList(InetAddress.getAllByName(host));
                    if (!addresses.containsAll(found)) {
                        awaitPassing(found, port);
                        addresses.addAll(found);
                    }
                } catch (UnknownHostException error) {
                    // It has no address now, so it allows none.
                }
            }
            return addresses;
        }
    }
}
