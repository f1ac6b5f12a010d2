import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.rmi.NotBoundException;
import java.rmi.RemoteException;
import java.rmi.UnmarshalException;
import java.rmi.registry.LocateRegistry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import org.apache.jmeter.rmi.RmiUtils;

/**
 * Claims generators for the harness until standard input ends, which happens however the harness ends.
 *
 * <p>Arguments: the JMeter home, the properties of the key store, the name of the user, and each generator as host:port.
 * The current folder contains the key store. Lines of standard output, with fields separated by tabs; n counts the
 * generators from 0:
 *
 * <pre>
 * own    name value        a fact of this machine's own JMeter, see Facts
 * fact   n name value      a fact of the generator's JMeter
 * ready  n milliseconds    it is claimed; its clock is ahead of ours by this time
 * done   n how             the last command for it has finished; how: "ran on" when a load had to be stopped
 * failed n why             the last command, or the claim, has failed
 * lost   n why             it no longer answers
 * </pre>
 *
 * Lines of standard input:
 *
 * <pre>
 * begin n folder variables name=value …   sends the files of the folder, and sets properties; an empty value removes one.
 *                                         variables: the required environment variables, separated by commas
 * end   n folder                          stops a load that still runs, and copies the files of the run into the folder
 * </pre>
 */
public final class Generators {
    private static final long PERIOD_MS = 1_000;
    private static final int CLOCK_TRIES = 5;
    private static final int TRIES = 3;
    private static final long SILENCE_MS = 10_000;

    private final String claim = java.util.UUID.randomUUID().toString();
    private final String[] addresses;
    private final Generator[] generators;
    /** The time of the last answer of each claimed generator. */
    private final Map<Integer, Long> answeredNs = new ConcurrentHashMap<>();

    private Generators(String[] addresses) {
        this.addresses = addresses;
        this.generators = new Generator[addresses.length];
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        Settings.load(home, Path.of(arguments[1]));
        Facts.of(home).forEach((name, value) -> send("own", name, value));
        Generators all = new Generators(Arrays.copyOfRange(arguments, 3, arguments.length));
        for (int n = 0; n < all.addresses.length; n++) {
            int number = n;
            daemon(() -> all.claimAndRenew(number, arguments[2]));
        }
        daemon(all::watch);
        // When the harness is killed, either standard input ends or the guardian ends this process.
        Runtime.getRuntime().addShutdownHook(new Thread(all::release));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] fields = line.split("\t", -1);
            daemon(() -> all.run(fields));
        }
        System.exit(0);
    }

    /** Claims a generator and renews the claim every second until it no longer answers. */
    private void claimAndRenew(int n, String who) {
        String number = String.valueOf(n);
        try {
            String[] address = addresses[n].split(":");
            int port = Integer.parseInt(address[1]);
            Generator found = (Generator)
                    LocateRegistry.getRegistry(address[0], port, RmiUtils.createClientSocketFactory())
                            .lookup(Generator.NAME);
            found.facts().forEach((name, value) -> send("fact", number, name, value));
            found.claim(claim, who);
            generators[n] = found;
            answeredNs.put(n, System.nanoTime()); // from now on it is released, even if the harness ends at "ready"
            send("ready", number, String.valueOf(aheadMs(found)));
        } catch (Exception error) { // any error concerns only this generator
            send("failed", number, text(error));
            return;
        }
        int failures = 0;
        while (answeredNs.containsKey(n)) {
            try {
                Thread.sleep(PERIOD_MS);
                generators[n].renew(claim);
                failures = 0;
                answeredNs.replace(n, System.nanoTime());
            } catch (RemoteException | InterruptedException error) {
                failures++;
                if (failures == TRIES) {
                    lose(n, text(error));
                }
            } catch (RuntimeException error) { // it reports that the claim has lapsed
                lose(n, text(error));
            }
        }
    }

    /** Reports generators that hang: RMI may wait for ever, since it sets no time limit for the SSL handshake. */
    private void watch() {
        long silenceNs = TimeUnit.MILLISECONDS.toNanos(SILENCE_MS);
        while (true) {
            answeredNs.forEach((n, lastNs) -> {
                if (System.nanoTime() - lastNs > silenceNs) {
                    lose(n, "it does not answer");
                }
            });
            try {
                Thread.sleep(PERIOD_MS);
            } catch (InterruptedException error) {
                return;
            }
        }
    }

    private void lose(int n, String why) {
        if (answeredNs.remove(n) != null) {
            send("lost", String.valueOf(n), why);
        }
    }

    /** Returns how far the generator's clock is ahead of ours, from the call that took the shortest time. */
    private long aheadMs(Generator generator) throws RemoteException {
        long shortestMs = Long.MAX_VALUE;
        long aheadMs = 0;
        for (int call = 0; call < CLOCK_TRIES; call++) {
            long beforeMs = System.currentTimeMillis();
            long theirsMs = generator.renew(claim);
            long tookMs = System.currentTimeMillis() - beforeMs;
            if (tookMs < shortestMs) {
                shortestMs = tookMs;
                aheadMs = theirsMs - (beforeMs + tookMs / 2);
            }
        }
        return aheadMs;
    }

    private void run(String[] fields) {
        try {
            Generator generator = generators[Integer.parseInt(fields[1])];
            boolean ranOn = false;
            Path folder = Path.of(fields[2]);
            if (fields[0].equals("begin")) {
                List<String> variables = fields[3].isEmpty() ? List.of() : List.of(fields[3].split(","));
                Map<String, String> properties = new HashMap<>();
                for (String property : Arrays.asList(fields).subList(4, fields.length)) {
                    int end = property.indexOf('=');
                    properties.put(property.substring(0, end), property.substring(end + 1));
                }
                generator.begin(claim, properties, new ArrayList<>(variables), read(folder));
            } else {
                ranOn = generator.stop(claim);
                write(folder, generator.left(claim));
            }
            send("done", fields[1], ranOn ? "ran on" : "");
        } catch (Exception error) { // any error concerns only this generator
            send("failed", fields[1], text(error));
        }
    }

    private void release() {
        for (int n : answeredNs.keySet()) { // only those that answer: the claim of the others lapses
            try {
                generators[n].release(claim);
            } catch (RemoteException | RuntimeException error) {
                // The generator has ended or its claim has lapsed: there is nothing to release.
            }
        }
    }

    private static Map<String, byte[]> read(Path folder) throws IOException {
        Map<String, byte[]> files = new TreeMap<>();
        try (Stream<Path> paths = Files.walk(folder)) {
            for (Path path : paths.filter(Files::isRegularFile).toList()) {
                files.put(folder.relativize(path).toString(), Files.readAllBytes(path));
            }
        }
        return files;
    }

    private static void write(Path folder, Map<String, byte[]> files) throws IOException {
        for (Map.Entry<String, byte[]> file : files.entrySet()) {
            Path path = folder.resolve(file.getKey()).normalize();
            if (!path.startsWith(folder)) {
                throw new IOException("it sent a file for another folder: " + file.getKey());
            }
            Files.createDirectories(path.getParent());
            Files.write(path, file.getValue());
        }
    }

    /** Returns the text of an error for the user. */
    private static String text(Exception error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof UnknownHostException) {
                return "there is no such host";
            }
            if (cause instanceof java.net.ConnectException) {
                return "nothing listens there";
            }
            if (cause instanceof NotBoundException) {
                return "a JMeter server that make generator did not start";
            }
            if (cause instanceof SocketTimeoutException) {
                return "it does not answer";
            }
            if (cause instanceof SSLException) {
                return "it does not speak SSL with the keys of this machine (" + cause.getMessage() + ")";
            }
            if (cause instanceof EOFException || cause instanceof SocketException) {
                return "it closed the connection: its keys differ, or it was stopped (" + cause.getMessage() + ")";
            }
            if (cause instanceof UnmarshalException && cause.getCause() == null) {
                return "it was started by another version of the harness (" + cause.getMessage() + ")";
            }
            if (cause instanceof IllegalStateException) {
                return cause.getMessage();
            }
        }
        return error.toString();
    }

    private static void daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    private static synchronized void send(String... fields) {
        StringBuilder line = new StringBuilder();
        for (String field : fields) {
            line.append(line.isEmpty() ? "" : "\t").append(String.valueOf(field).replaceAll("[\\t\\r\\n]+", " "));
        }
        System.out.println(line);
        System.out.flush();
    }
}
