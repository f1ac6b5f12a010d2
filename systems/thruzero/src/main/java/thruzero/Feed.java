package thruzero;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A feed as the site has it: the titles that were read last, and how its refreshes went. */
public final class Feed {
    private final String name;
    private final String url;
    private final AtomicInteger atOnce = new AtomicInteger();
    private final AtomicInteger mostAtOnce = new AtomicInteger();
    private final AtomicInteger refreshes = new AtomicInteger();
    private final AtomicInteger failures = new AtomicInteger();
    private volatile List<String> titles = List.of();
    private volatile long readAtNs;
    private volatile boolean isRead;

    Feed(String name, String url) {
        this.name = name;
        this.url = url;
    }

    /** Reads the feed and keeps its titles; a feed that cannot be read keeps those that it has. */
    void refresh(FeedReader reader) {
        mostAtOnce.accumulateAndGet(atOnce.incrementAndGet(), Math::max);
        refreshes.incrementAndGet();
        try {
            titles = reader.titles(url);
            readAtNs = System.nanoTime();
            isRead = true;
        } catch (FeedReader.NotReadException error) {
            failures.incrementAndGet();
        } finally {
            atOnce.decrementAndGet();
        }
    }

    boolean isStale(long maxAgeNs) {
        return !isRead || System.nanoTime() - readAtNs > maxAgeNs;
    }

    public String getName() {
        return name;
    }

    public List<String> getTitles() {
        return titles;
    }

    public boolean isRead() {
        return isRead;
    }

    int refreshCount() {
        return refreshes.get();
    }

    int failureCount() {
        return failures.get();
    }

    int mostRefreshesAtOnce() {
        return mostAtOnce.get();
    }
}
