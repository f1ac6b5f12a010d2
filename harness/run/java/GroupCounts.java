import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts by thread group and second how many users there are, how many of them pause, and arrivals; and what happened.
 *
 * {@link #FILE}, beside the list of connections, only grows, so that a JMeter that is killed leaves what it did until then.
 * Its lines have cells between tabs:
 *
 * <ul>
 *   <li>{@code G}, number of the group, whether it is open, its name;
 *   <li>{@code S}, number of the group, second since 1970, and what is added to it: for pauses, then for users, those that
 *       began less those that ended, and by how many ms the time in this second changes by that; then pauses that began,
 *       and arrivals;
 *   <li>{@code C}, number of the group, what happened, how often more, the time of the first (ms since 1970), and to what;
 *   <li>{@code I}, number of the group, how many more results the plan ignored, how many of them were failures, their times
 *       in ms, and their label;
 *   <li>{@code R}, number of the group, how many more samples redirects led to another page, their label, the path that the
 *       first asked for, and that of the page;
 *   <li>{@code X}, number of the group, how many more answers an extractor read, in how many of them it found nothing, after
 *       how many of those nothing, the value of before or the default was sent on, its name, the variable, the label and the
 *       default;
 *   <li>{@code T}, the second up to which all is written;
 *   <li>{@code U}: something could not be counted, and nothing is known.
 * </ul>
 *
 * The sum of those who began, less those who ended, before a second, times 1000, and the change in it, is the time in it.
 */
final class GroupCounts {
    static final String FILE = "groups.txt";
    /** What begins and ends. */
    static final int PAUSES = 0;
    static final int USERS = 2;

    private static final int PAUSE_COUNT = 4;
    private static final int ARRIVALS = 5;
    private static final int SIZE = 6;
    private static final long MS_PER_S = 1000;
    private static final long NS_PER_MS = 1_000_000L;
    /** A thread that found the cell of a second adds to it within so long. */
    private static final long KEPT_S = 60;
    private static final int MOST_TEXTS = 200;
    private static final int MOST_TEXT = 300;
    private static final String OTHERS = "…";
    private static final long START_NS = System.nanoTime();
    private static final long START_MS = System.currentTimeMillis();
    private static final Map<Object, Group> GROUPS = Collections.synchronizedMap(new IdentityHashMap<>());
    /** Whether something was not counted. */
    static volatile boolean isUnknown;

    /** What could not be written yet. */
    private static final StringBuilder PENDING = new StringBuilder();

    private static final Ticker.Kept OUT = new Ticker.Kept(FILE);
    private static long writtenS;

    private GroupCounts() {}

    /** Returns now (ms since 1970), by a clock that nobody sets. */
    static long nowMs() {
        return msOf(System.nanoTime());
    }

    static long msOf(long ns) {
        return START_MS + (ns - START_NS) / NS_PER_MS;
    }

    /** Returns the counts of a thread group of JMeter. */
    static Group group(Object ofJMeter) {
        Group known = GROUPS.get(ofJMeter);
        if (known != null) {
            return known;
        }
        synchronized (GROUPS) {
            return GROUPS.computeIfAbsent(ofJMeter, one -> new Group(GROUPS.size(), one));
        }
    }

    /** What is added to one second. */
    private static final class Cell extends AtomicLongArray {
        private static final long serialVersionUID = 1;
        final long second;

        Cell(long second) {
            super(SIZE);
            this.second = second;
        }
    }

    /** How often something happened, and how often that is written. */
    private static final class Tally {
        final AtomicLong count = new AtomicLong();
        final long firstMs = nowMs();
        long writtenCount;
    }

    /** Results of a label that the plan ignored; what is not written yet. */
    private static final class Ignored {
        private long count;
        private long failureCount;
        private long tookMs;

        synchronized void add(boolean isSuccessful, long ms) {
            count++;
            failureCount += isSuccessful ? 0 : 1;
            tookMs += ms;
        }

        synchronized void take(StringBuilder text, int group, String label) {
            if (count > 0) {
                text.append("I\t").append(group).append('\t').append(count).append('\t').append(failureCount).append('\t')
                        .append(tookMs).append('\t').append(label).append('\n');
            }
            count = 0;
            failureCount = 0;
            tookMs = 0;
        }
    }

    /** What an extractor found for a variable in the answers of a label; what is not written yet. */
    static final class Extraction {
        /** What was sent on after a miss: the variable's name, its value of before, or the default. */
        static final int UNSET = 2;
        static final int KEPT = 3;
        static final int DEFAULT = 4;

        private final long[] counts = new long[5];

        synchronized void ran(boolean isMissed) {
            counts[0]++;
            counts[1] += isMissed ? 1 : 0;
        }

        synchronized void sends(int left, int more) {
            counts[left] += more;
        }

        synchronized void take(StringBuilder text, int group, String key) {
            if (Arrays.stream(counts).anyMatch(count -> count != 0)) {
                text.append("X\t").append(group);
                Arrays.stream(counts).forEach(count -> text.append('\t').append(count));
                text.append('\t').append(key).append('\n');
                Arrays.fill(counts, 0);
            }
        }
    }

    /** Samples of a label that redirects led to another page; what is not written yet. */
    private static final class Redirected {
        private final String asked;
        private long count;

        Redirected(String asked) {
            this.asked = asked;
        }

        synchronized void add() {
            count++;
        }

        synchronized void take(StringBuilder text, int group, String key) {
            if (count > 0) {
                int tab = key.indexOf('\t');
                text.append("R\t").append(group).append('\t').append(count).append('\t').append(key, 0, tab + 1).append(asked).append(key, tab, key.length()).append('\n');
            }
            count = 0;
        }
    }

    /** The counts of a thread group. */
    static final class Group {
        /** Each arrival is a thread. */
        final boolean isPerArrival;
        /** Its users have a number of iterations, and are not meant to end before the load. */
        final boolean isLoop;
        /** How many of its users have begun. */
        final AtomicLong begun = new AtomicLong();

        private final int userCount;
        private final int number;
        private final String head;
        private final Map<Long, Cell> cells = new ConcurrentHashMap<>();
        private final Map<String, Tally> tallies = new ConcurrentHashMap<>();
        private final Map<String, Ignored> ignored = new ConcurrentHashMap<>();
        private final Map<String, Redirected> redirected = new ConcurrentHashMap<>();
        private final Map<String, Extraction> extractions = new ConcurrentHashMap<>();
        private volatile Cell latest = new Cell(-1);
        private boolean isWritten;

        private Group(int number, Object ofJMeter) {
            this.number = number;
            String type = ofJMeter.getClass().getSimpleName();
            isPerArrival = type.equals("OpenModelThreadGroup");
            boolean isOnce = type.equals("SetupThreadGroup") || type.equals("PostThreadGroup");
            isLoop = !isOnce && of(ofJMeter, "getSamplerController").getClass().getSimpleName().equals("LoopController");
            userCount = isLoop ? (int) of(ofJMeter, "getNumThreads") : 0;
            boolean isOpen = isPerArrival || type.endsWith("ArrivalsThreadGroup");
            head = "G\t" + number + '\t' + isOpen + '\t' + text((String) of(ofJMeter, "getName")) + '\n';
        }

        /** Returns whether all users of a group that loops have begun. */
        boolean isFull() {
            return isLoop && begun.get() >= userCount;
        }

        void begins(int what, long ms) {
            change(what, ms, 1);
            if (what == PAUSES) {
                cell(ms / MS_PER_S).incrementAndGet(PAUSE_COUNT);
            }
        }

        void ends(int what, long ms) {
            change(what, ms, -1);
        }

        void arrives() {
            cell(nowMs() / MS_PER_S).incrementAndGet(ARRIVALS);
        }

        void count(String what, String detail) {
            count(what, detail, 1);
        }

        void count(String what, String detail, long more) {
            String key = what + '\t' + text(detail);
            if (!tallies.containsKey(key) && tallies.size() >= MOST_TEXTS) {
                key = what + '\t' + OTHERS;
            }
            tallies.computeIfAbsent(key, unused -> new Tally()).count.addAndGet(more);
        }

        void ignores(String label, boolean isSuccessful, long tookMs) {
            String key = text(label);
            key = ignored.containsKey(key) || ignored.size() < MOST_TEXTS ? key : OTHERS;
            ignored.computeIfAbsent(key, unused -> new Ignored()).add(isSuccessful, tookMs);
        }

        void redirects(String label, String asked, String page) {
            String key = text(label) + '\t' + text(page);
            key = redirected.containsKey(key) || redirected.size() < MOST_TEXTS ? key : OTHERS + '\t' + OTHERS;
            redirected.computeIfAbsent(key, unused -> new Redirected(text(asked))).add();
        }

        Extraction extraction(String extractor, String variable, String label, String left) {
            String key = text(extractor) + '\t' + text(variable) + '\t' + text(label) + '\t' + text(left);
            Extraction known = extractions.get(key);
            if (known != null) {
                return known;
            }
            key = extractions.size() < MOST_TEXTS ? key : OTHERS + '\t' + OTHERS + '\t' + OTHERS + '\t';
            return extractions.computeIfAbsent(key, unused -> new Extraction());
        }

        private void change(int what, long ms, int by) {
            Cell cell = cell(ms / MS_PER_S);
            cell.addAndGet(what, by);
            cell.addAndGet(what + 1, by * (MS_PER_S - ms % MS_PER_S));
        }

        private Cell cell(long second) {
            Cell cell = latest;
            if (cell.second != second) {
                cell = cells.computeIfAbsent(second, Cell::new);
                if (cell.second > latest.second) {
                    latest = cell;
                }
            }
            return cell;
        }

        private void add(StringBuilder text, long untilS) {
            if (!isWritten) {
                text.append(head);
                isWritten = true;
            }
            for (Cell cell : cells.values()) {
                if (cell.second <= untilS) {
                    add(text, cell);
                }
                if (cell.second < untilS - KEPT_S) {
                    cells.remove(cell.second);
                }
            }
            ignored.forEach((label, one) -> one.take(text, number, label));
            redirected.forEach((key, one) -> one.take(text, number, key));
            extractions.forEach((key, one) -> one.take(text, number, key));
            tallies.forEach((key, tally) -> {
                long more = tally.count.get() - tally.writtenCount;
                if (more > 0) {
                    tally.writtenCount += more;
                    int tab = key.indexOf('\t');
                    text.append("C\t").append(number).append('\t').append(key, 0, tab).append('\t').append(more).append('\t')
                            .append(tally.firstMs).append(key, tab, key.length()).append('\n');
                }
            });
        }

        private void add(StringBuilder text, Cell cell) {
            boolean isNew = false;
            StringBuilder line = new StringBuilder("S\t").append(number).append('\t').append(cell.second);
            for (int at = 0; at < SIZE; at++) {
                long value = cell.getAndSet(at, 0);
                isNew |= value != 0;
                line.append('\t').append(value);
            }
            if (isNew) {
                text.append(line).append('\n');
            }
        }
    }

    private static Object of(Object group, String method) {
        try {
            return group.getClass().getMethod(method).invoke(group);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Returns a text for a cell of a line. */
    private static String text(String value) {
        String text = value == null ? "" : value;
        text = text.length() > MOST_TEXT ? text.substring(0, MOST_TEXT) + OTHERS : text;
        return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r");
    }

    /** Writes the seconds that have ended. */
    static void write() throws IOException {
        write(nowMs() / MS_PER_S - 1);
    }

    /** Writes all when JMeter ends. */
    static void end() throws IOException {
        write(nowMs() / MS_PER_S);
    }

    private static synchronized void write(long untilS) throws IOException {
        if (GROUPS.isEmpty() && !isUnknown || untilS <= writtenS) {
            return;
        }
        List<Group> groups;
        synchronized (GROUPS) {
            groups = new ArrayList<>(GROUPS.values());
        }
        groups.forEach(group -> group.add(PENDING, untilS));
        PENDING.append("T\t").append(untilS).append(isUnknown ? "\nU\n" : "\n");
        writtenS = untilS;
        OUT.append(PENDING.toString());
        PENDING.setLength(0);
    }
}
