package harness.sampler;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.FutureTask;
import java.util.function.BooleanSupplier;
import org.apache.jmeter.samplers.SampleEvent;
import org.apache.jmeter.threads.JMeterThread;
import org.apache.jorphan.collections.HashTree;

/**
 * Has threads of JMeter send requests like the plan's to a {@link WarmServer}, until their time no longer falls.
 *
 * The threads are JMeter's own, without its engine, so that Java compiles what the load uses. They have a {@link WarmPlan},
 * which has no functions, no scripts, no files and no other address. All have ended when this returns, and the numbers
 * of {@link LeanSampler} are those of a new one.
 */
public final class WarmUp {
    /** So few that the compiler, one thread on a small machine, gets a core. */
    private static final int MOST_THREADS = 4;
    private static final long LOOK_MS = 25;
    /** The time of a request is measured over at least so many, and so long. */
    private static final long WINDOW = 5_000;
    private static final long WINDOW_NS = 250_000_000L;
    /** It falls when it is less than this part of the least so far; so many times in turn it may not. */
    private static final double FASTER = 0.97;
    private static final int MOST_SLOWER = 4;
    /** Threads have so long to finish their requests, and when their connections are closed. */
    private static final long END_MS = 300;
    private static final long LATEST_MS = 5_000;
    private static final double NS_PER_S = 1e9;

    private WarmUp() {}

    /**
     * Warms JMeter for at most so long, or for heldS while the load is held, and returns what was done as JSON.
     *
     * An exception when that is not possible.
     */
    public static String run(Object engine, double mostS, double heldS, BooleanSupplier isHeld) throws Exception {
        long beganNs = System.nanoTime();
        BooleanSupplier isOver = () -> {
            double seconds = (System.nanoTime() - beganNs) / NS_PER_S;
            return seconds >= mostS && (seconds >= heldS || !isHeld.getAsBoolean());
        };
        FutureTask<Long> task = new FutureTask<>(() -> send(planOf(engine), isOver));
        Thread thread = new Thread(task, "warm-up"); // its context of JMeter ends with it
        thread.setDaemon(true);
        thread.start();
        try {
            long count = task.get();
            double seconds = (System.nanoTime() - beganNs) / NS_PER_S;
            return String.format(Locale.ROOT, "{\"requests\": %d, \"seconds\": %.2f}", count, seconds);
        } finally {
            LeanSampler.forget();
        }
    }

    private static HashTree planOf(Object engine) throws ReflectiveOperationException {
        Field test = engine.getClass().getDeclaredField("test");
        test.setAccessible(true);
        return (HashTree) test.get(engine);
    }

    /** Returns the number of requests that were sent. */
    private static long send(HashTree test, BooleanSupplier isOver) throws Exception {
        if (!System.getProperty("http.proxyHost", "").isEmpty()) {
            throw new IllegalStateException("its requests would go through a proxy");
        }
        try (WarmServer server = new WarmServer(); SilentLog log = new SilentLog()) {
            WarmPlan plan = WarmPlan.of(test, server.port());
            if (plan.samplerCount() == 0) {
                throw new IllegalStateException("the plan has no HTTP requests");
            }
            server.start(plan.answer());
            SampleEvent.initSampleVariables();
            List<JMeterThread> users = new ArrayList<>();
            List<Thread> threads = new ArrayList<>();
            int count = Math.max(1, Math.min(MOST_THREADS, Runtime.getRuntime().availableProcessors() - 1));
            for (int number = 0; number < count; number++) {
                String name = "warm-up " + number;
                users.add(plan.user(name, number));
                threads.add(new Thread(users.get(number), name));
                threads.get(number).setDaemon(true);
            }
            try {
                threads.forEach(Thread::start);
                await(isOver, threads, server);
            } finally {
                users.forEach(JMeterThread::stop);
                join(threads, END_MS);
                server.close();
                if (!join(threads, LATEST_MS)) {
                    throw new IOException("a thread of the warm-up does not end");
                }
            }
            return server.count();
        }
    }

    /** Returns when the time of a request no longer falls, or when it is over. */
    private static void await(BooleanSupplier isOver, List<Thread> threads, WarmServer server) throws InterruptedException {
        long sinceNs = System.nanoTime();
        long since = 0;
        double least = Double.MAX_VALUE;
        int slowerCount = 0;
        while (!isOver.getAsBoolean() && threads.stream().anyMatch(Thread::isAlive)) {
            Thread.sleep(LOOK_MS);
            long nowNs = System.nanoTime();
            long count = server.count();
            if (count - since >= WINDOW && nowNs - sinceNs >= WINDOW_NS) {
                double each = (double) (nowNs - sinceNs) / (count - since);
                slowerCount = each < FASTER * least ? 0 : slowerCount + 1;
                least = Math.min(each, least);
                if (slowerCount == MOST_SLOWER) {
                    return;
                }
                sinceNs = nowNs;
                since = count;
            }
        }
    }

    private static boolean join(List<Thread> threads, long mostMs) throws InterruptedException {
        long untilNs = System.nanoTime() + mostMs * 1_000_000;
        for (Thread thread : threads) {
            thread.join(Math.max(1, (untilNs - System.nanoTime()) / 1_000_000));
        }
        return threads.stream().noneMatch(Thread::isAlive);
    }
}
