package thruzero;

import jakarta.annotation.PreDestroy;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.context.Initialized;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Named;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import thruzero.Settings.Fault;

/** The nine feeds of the home page, read in the background: a page shows what is there and waits for none. */
@Named
@ApplicationScoped
public class Feeds {
    static final int COUNT = 9;
    private static final int NO_TIMEOUT = 0;

    private final Settings settings = Settings.ofSystem();
    private final boolean isSequential = settings.has(Fault.SEQUENTIAL_FEEDS);
    private final FeedReader reader = new FeedReader(isSequential ? NO_TIMEOUT : settings.feedTimeoutMs());
    private final List<Feed> feeds = IntStream.rangeClosed(1, COUNT)
            .mapToObj(number -> new Feed("Feed " + number, settings.feedsUrl() + "/feeds/" + number + ".xml"))
            .toList();
    private final ScheduledExecutorService executor = Executors.newScheduledThreadPool(COUNT, task -> {
        Thread thread = new Thread(task, "feeds");
        thread.setDaemon(true);
        return thread;
    });

    /** Starts reading with the site. A feed is read again a while after its last reading ended: never twice at once. */
    void start(@Observes @Initialized(ApplicationScoped.class) Object site) {
        if (!isSequential) {
            for (Feed feed : feeds) {
                executor.scheduleWithFixedDelay(
                        () -> feed.refresh(reader), 0, settings.feedRefreshS(), TimeUnit.SECONDS);
            }
        }
    }

    @PreDestroy
    void stop() {
        executor.shutdownNow();
    }

    /** Returns the feeds as they are now, for a page. */
    public List<Feed> getCurrent() {
        if (isSequential) {
            refreshStale();
        }
        return feeds;
    }

    /** The fault: whoever comes first reads them all, and so does whoever comes meanwhile. */
    private void refreshStale() {
        long maxAgeNs = TimeUnit.SECONDS.toNanos(settings.feedRefreshS());
        for (Feed feed : feeds) {
            if (feed.isStale(maxAgeNs)) {
                feed.refresh(reader);
            }
        }
    }

    /** Returns the feeds without reading any. */
    List<Feed> asTheyAre() {
        return feeds;
    }
}
