import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.rmi.NotBoundException;
import java.rmi.RemoteException;
import java.rmi.registry.LocateRegistry;
import java.rmi.registry.Registry;
import java.rmi.server.RMIClientSocketFactory;
import java.rmi.server.RMIServerSocketFactory;
import java.rmi.server.UnicastRemoteObject;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.jmeter.NewDriver;
import org.apache.jmeter.engine.RemoteJMeterEngine;
import org.apache.jmeter.rmi.RmiUtils;
import org.apache.jmeter.threads.JMeterContextService;
import org.apache.jmeter.util.JMeterUtils;

/**
 * A JMeter server that offers {@link Generator} in addition to its engine. It works in the current folder, which no other
 * process uses.
 *
 * <p>Arguments: the JMeter home, the properties of the key store, the port, the log's name, then those of JMeter. The
 * registry and this object listen on the port, JMeter's engine on the next one.
 */
public final class GeneratorServer implements Generator {
    private static final long STOP_WAIT_MS = 10_000;
    private static final long POLL_MS = 50;
    /** The property with the allowed hosts of a run, host:port separated by commas. */
    private static final String ALLOWED = "allowed_connections";
    /** The agent's file of what died, beside that of the connections. */
    private static final String DEAD = "dead-users.txt";
    /** Larger files, such as complete answers that a plan saves, are not sent back. */
    private static final long FILE_MAX_BYTES = 16L * 1024 * 1024;

    private final Path home;
    private final Path folder;
    private final Path log;
    private final Set<Path> ownFiles;
    private final RemoteJMeterEngine engine;
    private volatile String claim = "";
    private volatile String claimedBy = "";
    private volatile long renewedNs;
    private long logStart;
    private Set<String> sent = Set.of();

    private GeneratorServer(Path home, String logName, RemoteJMeterEngine engine) throws IOException {
        this.home = home;
        this.folder = Path.of("").toAbsolutePath();
        this.log = folder.resolve(logName);
        this.engine = engine;
        try (Stream<Path> files = Files.list(folder)) {
            this.ownFiles = Set.copyOf(files.toList());
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        int port = Integer.parseInt(arguments[2]);
        Settings.load(home, Path.of(arguments[1]));
        JMeterUtils.setProperty("server_port", arguments[2]);
        JMeterUtils.setProperty("server.rmi.localport", String.valueOf(port + 1));
        RMIClientSocketFactory clients = RmiUtils.createClientSocketFactory();
        RMIServerSocketFactory servers = RmiUtils.createServerSocketFactory();
        // Created here and not by JMeter: registry and generator can share a port only with the same factory.
        Registry registry = LocateRegistry.createRegistry(port, clients, servers);
        List<String> own = new ArrayList<>(List.of("-s", "-j", arguments[3], "-Jserver_port=" + port));
        own.add("-Jserver.rmi.localport=" + (port + 1));
        own.add("-Jserver.rmi.create=false");
        own.addAll(List.of(arguments).subList(4, arguments.length));
        NewDriver.main(own.toArray(String[]::new));
        GeneratorServer server = new GeneratorServer(home, arguments[3], engineOf(registry));
        registry.rebind(NAME, UnicastRemoteObject.exportObject(server, port, clients, servers));
        ScheduledExecutorService watch = Executors.newSingleThreadScheduledExecutor();
        watch.scheduleWithFixedDelay(server::lapse, 1, 1, TimeUnit.SECONDS);
        System.out.println("generator: ready");
    }

    private static RemoteJMeterEngine engineOf(Registry registry) throws RemoteException {
        try {
            return (RemoteJMeterEngine) registry.lookup("JMeterEngine");
        } catch (NotBoundException error) {
            System.err.println("JMeter did not start: see its log");
            System.exit(1);
            throw new IllegalStateException(error);
        }
    }

    @Override
    public Map<String, String> facts() throws RemoteException {
        try {
            Map<String, String> facts = Facts.of(home);
            facts.put("pid", String.valueOf(ProcessHandle.current().pid()));
            return facts;
        } catch (IOException error) {
            throw new RemoteException("its JMeter home cannot be read: " + error);
        }
    }

    @Override
    public synchronized void claim(String wanted, String who) {
        if (!claim.isEmpty()) {
            throw new IllegalStateException(
                    claim.equals(wanted) ? "it is named twice" : "it is in use by " + claimedBy);
        }
        claim = wanted;
        claimedBy = who;
        renewedNs = System.nanoTime();
        print("in use by " + who);
    }

    @Override
    public long renew(String callersClaim) { // not synchronized: it must not wait for a slow call
        check(callersClaim);
        renewedNs = System.nanoTime();
        return System.currentTimeMillis();
    }

    @Override
    public synchronized void begin(
            String callersClaim, Map<String, String> properties, List<String> variables, Map<String, byte[]> files)
            throws RemoteException {
        check(callersClaim);
        List<String> missing = variables.stream().filter(name -> System.getenv(name) == null).toList();
        if (!missing.isEmpty()) {
            throw new IllegalStateException("it was started without " + String.join(", ", missing));
        }
        stop();
        try {
            clear();
            for (Map.Entry<String, byte[]> file : files.entrySet()) {
                Path path = inFolder(file.getKey());
                Files.createDirectories(path.getParent());
                Files.write(path, file.getValue());
            }
            logStart = Files.size(log);
        } catch (IOException error) {
            throw new RemoteException("its folder cannot be written: " + error);
        }
        sent = Set.copyOf(files.keySet());
        ofAgent("allow", properties.getOrDefault(ALLOWED, ""));
        properties.forEach((name, value) -> {
            if (value.isEmpty()) {
                JMeterUtils.getJMeterProperties().remove(name);
            } else {
                JMeterUtils.setProperty(name, value);
            }
        });
    }

    /** Calls a method of the agent, a separate program that watches this JVM's connections. */
    private static Object ofAgent(String method, String... texts) {
        try {
            Class<?>[] types = texts.length == 0 ? new Class<?>[0] : new Class<?>[] {String.class};
            return Class.forName("AllowedConnections").getMethod(method, types).invoke(null, (Object[]) texts);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("it does not watch its connections (" + error + ")", error);
        }
    }

    @Override
    public synchronized boolean stop(String callersClaim) {
        check(callersClaim);
        return stop();
    }

    @Override
    public synchronized Map<String, byte[]> left(String callersClaim) throws RemoteException {
        check(callersClaim);
        Map<String, byte[]> files = new TreeMap<>();
        try {
            for (Path file : filesOfRun()) {
                String name = folder.relativize(file).toString();
                if (!sent.contains(name) && Files.size(file) <= FILE_MAX_BYTES) {
                    files.put(name, Files.readAllBytes(file));
                }
            }
            files.put(log.getFileName().toString(), logOfRun());
            Path connections = (Path) ofAgent("list");
            for (Path noted : List.of(connections, connections.resolveSibling(DEAD))) {
                if (Files.exists(noted)) {
                    files.put(noted.getFileName().toString(), Files.readAllBytes(noted));
                }
            }
        } catch (IOException error) {
            throw new RemoteException("its files cannot be read: " + error);
        }
        return files;
    }

    @Override
    public synchronized void release(String callersClaim) {
        check(callersClaim);
        stop();
        claim = "";
        print("free");
    }

    private synchronized void lapse() {
        if (!claim.isEmpty() && System.nanoTime() - renewedNs > TimeUnit.MILLISECONDS.toNanos(LAPSE_MS)) {
            print("no contact with " + claimedBy + " any more");
            stop();
            claim = "";
            print("free");
        }
    }

    private void check(String callersClaim) {
        if (!claim.equals(callersClaim)) {
            throw new IllegalStateException(
                    claim.isEmpty() ? "it had no contact with this harness for too long" : "it is in use by " + claimedBy);
        }
    }

    /** Stops a load that still runs and waits for its end; if that fails, JMeter ends the process. */
    private boolean stop() {
        if (JMeterContextService.getTestStartTime() == 0) {
            return false;
        }
        print("stopping the load that still runs");
        try {
            engine.rstopTest(true);
            long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(STOP_WAIT_MS);
            while (JMeterContextService.getTestStartTime() != 0 && System.nanoTime() < deadlineNs) {
                Thread.sleep(POLL_MS);
            }
        } catch (RemoteException | InterruptedException error) {
            System.err.println("the load could not be stopped: " + error);
            System.exit(1);
        }
        return true;
    }

    private Path inFolder(String name) throws IOException {
        Path path = folder.resolve(name).normalize();
        if (!path.startsWith(folder) || ownFiles.contains(path)) {
            throw new IOException(name + " is not a file of a plan");
        }
        return path;
    }

    private List<Path> filesOfRun() throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> Files.isRegularFile(file) && !ownFiles.contains(file)).toList();
        }
    }

    private void clear() throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                if (!file.equals(folder) && !ownFiles.contains(file)) {
                    Files.delete(file);
                }
            }
        }
    }

    private byte[] logOfRun() throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "r")) {
            long start = Math.max(logStart, file.length() - FILE_MAX_BYTES);
            byte[] bytes = new byte[(int) (file.length() - start)];
            file.seek(start);
            file.readFully(bytes);
            return bytes;
        }
    }

    private static void print(String text) {
        System.out.println("generator: " + text);
    }
}
