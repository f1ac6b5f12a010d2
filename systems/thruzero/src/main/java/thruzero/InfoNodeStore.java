package thruzero;

import jakarta.enterprise.context.ApplicationScoped;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Replaces the store of nodes: it has a fixed number of connections, and a query takes from half to one and a half of
 * storeQueryMs. Requests wait in the order in which they came, at most storeTimeoutMs; 0 is without limit.
 */
@ApplicationScoped
public class InfoNodeStore {
    private static final Map<String, Integer> COUNTS = counts();
    private static final String[] WORDS = (
            "content node panel viewer feed page session filter chain store query cache button form dialog menu theme "
                    + "*important* _subtle_ [home|/home.jsf] {site} {pages} & <plain>").split(" ");
    private static final int WORDS_OF_A_NODE = 250;

    private final Semaphore connections;
    private final double queryMs;
    private final int timeoutMs;
    private final Map<String, InfoNode> nodes = new HashMap<>();

    public InfoNodeStore() {
        Settings settings = Settings.ofSystem();
        connections = new Semaphore(settings.storeConnections(), true);
        queryMs = settings.storeQueryMs();
        timeoutMs = settings.storeTimeoutMs();
        COUNTS.forEach((page, count) -> {
            for (int number = 1; number <= count; number++) {
                nodes.put(page + "#" + number, node(page, number));
            }
        });
    }

    /** Returns how many nodes a page has. */
    public int countOf(String page) {
        return COUNTS.getOrDefault(page, 0);
    }

    /** Returns a node, after waiting for a connection and for the query. */
    public InfoNode read(String page, int number) {
        try {
            take(page, number);
            try {
                Thread.sleep(Math.round(queryMs * ThreadLocalRandom.current().nextDouble(0.5, 1.5)));
            } finally {
                connections.release();
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while reading " + page + "#" + number, error);
        }
        return nodes.get(page + "#" + number);
    }

    /** Takes a connection, first come, first served; IllegalStateException when none is free in time. */
    private void take(String page, int number) throws InterruptedException {
        if (timeoutMs == 0) {
            connections.acquire();
        } else if (!connections.tryAcquire(timeoutMs, TimeUnit.MILLISECONDS)) {
            String node = page + "#" + number;
            throw new IllegalStateException("no connection for " + node + " within " + timeoutMs + " ms");
        }
    }

    /** Returns a node with a text of its own, the same at every start. */
    private static InfoNode node(String page, int number) {
        Random random = new Random((page + number).hashCode());
        StringBuilder text = new StringBuilder();
        for (int word = 0; word < WORDS_OF_A_NODE; word++) {
            text.append(WORDS[random.nextInt(WORDS.length)]).append(' ');
        }
        return new InfoNode(page, "Node " + number + " of " + page, "en", "guest", true, text.toString());
    }

    /** Three of them a page on average: 66 on 22 pages. */
    private static Map<String, Integer> counts() {
        Map<String, Integer> counts = new HashMap<>();
        counts.put("home", 5);
        counts.put("dashboard", 5);
        counts.put("ajax", 2);
        counts.put("charts", 3);
        counts.put("commandButtons", 2);
        counts.put("dialogs/about", 1);
        counts.put("crudList", 4);
        counts.put("crud/createViewer", 2);
        counts.put("crud/updateViewer", 2);
        counts.put("dscPanels", 5);
        counts.put("escapeTool", 2);
        counts.put("feeds", 4);
        counts.put("guestBook", 4);
        counts.put("multiPageEx1", 3);
        counts.put("multiPageEx2", 3);
        counts.put("multiplePanels", 6);
        counts.put("navigationButtons", 2);
        counts.put("buttons/navigationTest", 1);
        counts.put("simplePanel", 2);
        counts.put("auth/login", 1);
        counts.put("secure/secure1", 4);
        counts.put("secure/secure2", 3);
        return counts;
    }
}
