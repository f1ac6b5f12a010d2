package thruzero;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;

/** Serves nine RSS feeds on the loopback address, each after its own time: FeedServer PORT MS,MS,… (nine of them). */
public final class FeedServer {
    private static final int WRONG_USE = 2;
    private static final int LONGEST_MS = 600_000;
    private static final int ITEMS = 20;

    public static void main(String[] arguments) throws IOException {
        List<Integer> latenciesMs;
        try {
            latenciesMs = latencies(arguments[1]);
        } catch (IllegalArgumentException error) {
            System.err.println("thruzero: " + error.getMessage());
            System.exit(WRONG_USE);
            return;
        }
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
        HttpServer server = HttpServer.create(address, 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/health", exchange -> answer(exchange, "text/plain", "feeds"));
        for (int index = 0; index < latenciesMs.size(); index++) {
            int number = index + 1;
            int latencyMs = latenciesMs.get(index);
            server.createContext("/feeds/" + number + ".xml", exchange -> {
                waitFor(latencyMs);
                answer(exchange, "application/rss+xml", rss(number));
            });
        }
        server.start();
    }

    private static List<Integer> latencies(String text) {
        List<Integer> latenciesMs = new ArrayList<>();
        for (String word : text.split(",")) {
            if (!word.matches("\\d{1,6}") || Integer.parseInt(word) > LONGEST_MS) {
                throw new IllegalArgumentException("feed_latencies_ms: '" + word + "' is not a number from 0 to " + LONGEST_MS);
            }
            latenciesMs.add(Integer.parseInt(word));
        }
        if (latenciesMs.size() != Feeds.COUNT) {
            throw new IllegalArgumentException(
                    "feed_latencies_ms: " + latenciesMs.size() + " of them; give one for each of the " + Feeds.COUNT + " feeds");
        }
        return latenciesMs;
    }

    private static void waitFor(int latencyMs) throws IOException {
        try {
            Thread.sleep(latencyMs);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IOException(error);
        }
    }

    private static String rss(int number) {
        StringBuilder rss = new StringBuilder("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\"><channel>");
        rss.append("<title>Feed ").append(number).append("</title>");
        for (int item = 1; item <= ITEMS; item++) {
            rss.append("<item><title>News ").append(item).append(" of feed ").append(number).append("</title>");
            rss.append("<description>What happened, in a sentence or two.</description></item>\n");
        }
        return rss.append("</channel></rss>\n").toString();
    }

    private static void answer(HttpExchange exchange, String type, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type + "; charset=UTF-8");
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private FeedServer() {}
}
