/**
 * Notices that the clock of this machine was set: its distance to the monotonic clock changes at once.
 *
 * A pause of the load looks like a clock that was set forward, and rows of a transaction that JMeter writes together look like
 * one that was set back: rows cannot tell.
 */
final class ClockSteps {
    /** Less is a pause between two looks at a clock. */
    private static final long LEAST_NS = 100_000_000L;
    private static final long LOOK_MOST_NS = 20_000_000L;
    private static final long NS_PER_MS = 1_000_000L;

    private static boolean isKnown;
    private static long distanceNs;
    private static long sumNs;
    private static volatile long mostNs;

    private ClockSteps() {}

    /** Returns the distance (ms) by which the clock was off most: negative when it was set back; 0 when it was not set. */
    static long mostMs() {
        return mostNs / NS_PER_MS;
    }

    /** Compares both clocks with the last time. */
    static synchronized void look() {
        long beganNs = System.nanoTime();
        long nowNs = System.currentTimeMillis() * NS_PER_MS;
        if (System.nanoTime() - beganNs > LOOK_MOST_NS) {
            return;
        }
        long stepNs = isKnown ? nowNs - beganNs - distanceNs : 0;
        isKnown = true;
        distanceNs = nowNs - beganNs;
        if (Math.abs(stepNs) >= LEAST_NS) {
            sumNs += stepNs;
            mostNs = Math.abs(sumNs) > Math.abs(mostNs) ? sumNs : mostNs;
        }
    }
}
