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
 * Claims generators for the harness and keeps them until standard input ends, which it does however the harness ends.
 *
 * <p>Arguments: the JMeter home, the properties of the key store, who it is for, and each generator as host:port. The
 * current folder holds the key store. Lines of standard output, fields parted by tabs; n counts the generators from 0:
 *
 * <pre>
 * own    name value        a fact of this machine's own JMeter, see Facts
 * fact   n name value      one of the generator's
 * ready  n milliseconds    it is claimed; so far its clock is ahead of ours
 * done   n how             the last command for it is carried out; how: "ran on" when a load had to be stopped
 * failed n why             it is not, or the generator could not be claimed
 * lost   n why             it does not answer any more
 * </pre>
 *
 * Lines of standard input:
 *
 * <pre>
 * begin n folder variables name=value …   sends the files of the folder, and sets properties, an empty value for none;
 *                                         variables of the environment that must be there are parted by commas
 * end   n folder                          stops what still runs, and puts there what the run left on the generator
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
    /** When each generator that is ours was heard last. */
    private final Map<Integer, Long> heardNs = new ConcurrentHashMap<>();

    private Generators(String[] addresses) {
        this.addresses = addresses;
        this.generators = new Generator[addresses.length];
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        Settings.load(home, Path.of(arguments[1]));
        Facts.of(home).forEach((name, value) -> tell("own", name, value));
        Generators all = new Generators(Arrays.copyOfRange(arguments, 3, arguments.length));
        for (int n = 0; n < all.addresses.length; n++) {
            int number = n;
            daemon(() -> all.hold(number, arguments[2]));
        }
        daemon(all::watch);
        // Standard input may end, or a guardian may end us: whichever comes first when the harness is killed.
        Runtime.getRuntime().addShutdownHook(new Thread(all::release));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            daemon(() -> all.carryOut(words));
        }
        System.exit(0);
    }

    /** Claim a generator, and say every second that we are there, until it does not answer any more. */
    private void hold(int n, String who) {
        String number = String.valueOf(n);
        try {
            String[] address = addresses[n].split(":");
            int port = Integer.parseInt(address[1]);
            Generator found = (Generator)
                    LocateRegistry.getRegistry(address[0], port, RmiUtils.createClientSocketFactory())
                            .lookup(Generator.NAME);
            found.facts().forEach((name, value) -> tell("fact", number, name, value));
            found.claim(claim, who);
            generators[n] = found;
            tell("ready", number, String.valueOf(aheadMs(found)));
        } catch (Exception error) { // whatever it is, it belongs to this generator
            tell("failed", number, words(error));
            return;
        }
        int failures = 0;
        heardNs.put(n, System.nanoTime());
        while (heardNs.containsKey(n)) {
            try {
                Thread.sleep(PERIOD_MS);
                generators[n].renew(claim);
                failures = 0;
                heardNs.replace(n, System.nanoTime());
            } catch (RemoteException | InterruptedException error) {
                failures++;
                if (failures == TRIES) {
                    lose(n, words(error));
                }
            } catch (RuntimeException error) { // its own word: the claim is gone
                lose(n, words(error));
            }
        }
    }

    /** Tell of those that hang: RMI may wait for one of them for ever, as it sets no limit to the handshake of SSL. */
    private void watch() {
        long silenceNs = TimeUnit.MILLISECONDS.toNanos(SILENCE_MS);
        while (true) {
            heardNs.forEach((n, lastNs) -> {
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
        if (heardNs.remove(n) != null) {
            tell("lost", String.valueOf(n), why);
        }
    }

    /** Return how far the generator's clock is ahead of ours, by the call that took the shortest time. */
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

    private void carryOut(String[] words) {
        try {
            Generator generator = generators[Integer.parseInt(words[1])];
            boolean ranOn = false;
            Path folder = Path.of(words[2]);
            if (words[0].equals("begin")) {
                List<String> variables = words[3].isEmpty() ? List.of() : List.of(words[3].split(","));
                Map<String, String> properties = new HashMap<>();
                for (String property : Arrays.asList(words).subList(4, words.length)) {
                    int end = property.indexOf('=');
                    properties.put(property.substring(0, end), property.substring(end + 1));
                }
                generator.begin(claim, properties, new ArrayList<>(variables), read(folder));
            } else {
                ranOn = generator.stop(claim);
                write(folder, generator.left(claim));
            }
            tell("done", words[1], ranOn ? "ran on" : "");
        } catch (Exception error) { // whatever it is, it belongs to this generator
            tell("failed", words[1], words(error));
        }
    }

    private void release() {
        for (int n : heardNs.keySet()) { // of those alone that answer: the others give themselves free
            try {
                generators[n].release(claim);
            } catch (RemoteException | RuntimeException error) {
                // It is gone, or it has given itself free: there is nothing to release.
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

    /** Return what an error means for who started the generators. */
    private static String words(Exception error) {
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
                return "it broke the connection off: other keys, or it was ended (" + cause.getMessage() + ")";
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

    private static synchronized void tell(String... fields) {
        StringBuilder line = new StringBuilder();
        for (String field : fields) {
            line.append(line.isEmpty() ? "" : "\t").append(String.valueOf(field).replaceAll("[\\t\\r\\n]+", " "));
        }
        System.out.println(line);
        System.out.flush();
    }
}
