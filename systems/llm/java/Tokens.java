import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A stand-in for a server of a language model: POST /v1/chat/completions answers as OpenAI's interface does, whole or as a
 * stream of events. There is no model: the tokens are words of a sentence, and their times are random.
 */
public final class Tokens {
    private static final int BACKLOG = 4096;
    private static final int MOST_BODY_BYTES = 1024 * 1024;
    private static final String[] WORDS = "The answer has as many words as there are tokens and says nothing more".split(" ");
    private static final Pattern STREAM = Pattern.compile("\"stream\"\\s*:\\s*true\\b");
    private static final Pattern MOST_TOKENS = Pattern.compile("\"max_tokens\"\\s*:\\s*(\\d{1,9})\\b");
    private static final Pattern MESSAGES = Pattern.compile("\"messages\"\\s*:\\s*\\[\\s*\\{");

    private final LogNormal first = new LogNormal("first.token");
    private final LogNormal each = new LogNormal("token");
    private final int tokens = Integer.getInteger("tokens");
    /** So many answers are generated at a time; the others wait in order. */
    private final Semaphore slots = new Semaphore(Integer.getInteger("parallel.answers"), true);
    private final AtomicLong answerCount = new AtomicLong();
    private final AtomicLong tokenCount = new AtomicLong();

    /** Times in ms with this median, whose logarithms have the standard deviation sigma. */
    private static final class LogNormal {
        private final double medianMs;
        private final double sigma;

        LogNormal(String name) {
            medianMs = Double.parseDouble(System.getProperty(name + ".median.ms"));
            sigma = Double.parseDouble(System.getProperty(name + ".sigma"));
        }

        void pass(Random random) throws InterruptedException {
            double ms = medianMs * Math.exp(sigma * random.nextGaussian());
            TimeUnit.NANOSECONDS.sleep((long) (ms * 1_000_000));
        }
    }

    public static void main(String[] args) throws IOException {
        Tokens tokens = new Tokens();
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.getInteger("port"));
        HttpServer server = HttpServer.create(address, BACKLOG);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/v1/chat/completions", tokens::answer);
        server.createContext("/stats", tokens::count);
        server.start();
    }

    private void count(HttpExchange exchange) throws IOException {
        whole(exchange, 200, String.format("{\"answers\": %d, \"tokens\": %d}", answerCount.get(), tokenCount.get()));
    }

    private void answer(HttpExchange exchange) throws IOException {
        String request = new String(exchange.getRequestBody().readNBytes(MOST_BODY_BYTES), StandardCharsets.UTF_8);
        if (!exchange.getRequestMethod().equals("POST") || !MESSAGES.matcher(request).find()) {
            whole(exchange, 400, "{\"error\": {\"message\": \"expected a POST with messages\"}}");
            return;
        }
        Random random = ThreadLocalRandom.current();
        Matcher most = MOST_TOKENS.matcher(request);
        int drawn = Math.max(1, (int) Math.round(tokens * (0.5 + random.nextDouble())));
        int count = most.find() ? Math.min(drawn, Math.max(1, Integer.parseInt(most.group(1)))) : drawn;
        try {
            slots.acquire();
            try {
                if (STREAM.matcher(request).find()) {
                    stream(exchange, count, random);
                } else {
                    first.pass(random);
                    for (int number = 1; number < count; number++) {
                        each.pass(random);
                    }
                    whole(exchange, 200, "{\"choices\": [{\"index\": 0, \"message\": {\"role\": \"assistant\", \"content\": \""
                            + text(0, count) + "\"}, \"finish_reason\": \"stop\"}]}");
                }
                answerCount.incrementAndGet();
                tokenCount.addAndGet(count);
            } finally {
                slots.release();
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        } finally {
            exchange.close();
        }
    }

    private void stream(HttpExchange exchange, int count, Random random) throws IOException, InterruptedException {
        exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
        exchange.sendResponseHeaders(200, 0);
        try (OutputStream out = exchange.getResponseBody()) {
            for (int number = 0; number < count; number++) {
                (number == 0 ? first : each).pass(random);
                event(out, "{\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"" + text(number, number + 1) + "\"}}]}");
            }
            event(out, "[DONE]");
        }
    }

    private static void event(OutputStream out, String data) throws IOException {
        out.write(("data: " + data + "\n\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    private static String text(int from, int to) {
        StringBuilder text = new StringBuilder();
        for (int number = from; number < to; number++) {
            text.append(number == 0 ? "" : " ").append(WORDS[number % WORDS.length]);
        }
        return text.toString();
    }

    private static void whole(HttpExchange exchange, int status, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }
}
