import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/** An HTTP server that leaks memory at a known rate: Leaky PORT LEAKED_BYTES_PER_S GARBAGE_BYTES_PER_S. */
public final class Leaky {
    private static final int TICK_MS = 20;
    // An entry with its array and its place in the list.
    private static final int ENTRY_BYTES = 16 + 1016 + 4;
    private static final int GARBAGE_BYTES = 100_000;
    private static final List<Entry> KEPT = new ArrayList<>();
    private static volatile byte[] garbage;

    static final class Entry {
        final byte[] content = new byte[1000];
    }

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        long leakedPerS = Long.parseLong(arguments[1]), garbagePerS = Long.parseLong(arguments[2]);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.createContext("/", exchange -> {
            byte[] answer = "ok\n".getBytes();
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.start();
        long beganNs = System.nanoTime(), discarded = 0;
        while (true) {
            Thread.sleep(TICK_MS);
            double passedS = (System.nanoTime() - beganNs) / 1e9;
            while (KEPT.size() < passedS * leakedPerS / ENTRY_BYTES) {
                KEPT.add(new Entry());
            }
            for (; discarded < passedS * garbagePerS; discarded += GARBAGE_BYTES) {
                garbage = new byte[GARBAGE_BYTES];
            }
        }
    }
}
