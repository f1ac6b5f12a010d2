package harness.sampler;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The body of a response that is a stream: counts its events, and how long they are apart, while JMeter reads it.
 *
 * An event of text/event-stream ends with an empty line after a line of data, as in the HTML Standard (9.2.6); comments are
 * none. Of JSON lines each line is one, except empty ones. Its time is that of the read that brought its end. Each answer that was read to its end is a line of {@link #FILE}, in the current
 * folder; rows of samples and what is sent stay as they are.
 */
final class EventStream extends FilterInputStream {
    private static final String EVENTS = "text/event-stream";
    private static final Set<String> LINES = Set.of(
            "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
            "application/jsonlines", "application/stream+json");
    private static final byte[] DATA = {'d', 'a', 't', 'a', ':'};
    private static final Path FILE = Path.of("streams.csv");
    private static final String HEAD = "end_ms,label,event_count,stream_us,longest_gap_us\n";
    private static final long FLUSH_NS = TimeUnit.SECONDS.toNanos(1);
    private static Writer out;
    private static long flushedNs;
    private static boolean isBroken;

    private final byte[] one = new byte[1];
    private final boolean isOfLines;
    /** The number of bytes in the line, and whether they are the beginning of a line of data so far. */
    private int column;
    private boolean isData = true;
    private boolean hasData;
    private boolean isAfterReturn;
    private long eventCount;
    private long firstNs;
    private long lastNs;
    private long longestNs;

    private EventStream(InputStream in, boolean isOfLines) {
        super(in);
        this.isOfLines = isOfLines;
    }

    /** Returns the body as a stream; null when the response has another type. */
    static EventStream orNull(InputStream body, String contentType) {
        if (contentType == null) {
            return null;
        }
        int end = contentType.indexOf(';');
        String type = (end < 0 ? contentType : contentType.substring(0, end)).strip().toLowerCase(Locale.ROOT);
        boolean isOfLines = LINES.contains(type);
        return isOfLines || type.equals(EVENTS) ? new EventStream(body, isOfLines) : null;
    }

    @Override
    public int read() throws IOException {
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int from, int length) throws IOException {
        int count = in.read(into, from, length);
        long before = eventCount;
        for (int at = from; at < from + count; at++) {
            see(into[at]);
        }
        if (count < 0 && isOfLines) {
            see((byte) '\n'); // the last line may have no end
        }
        if (eventCount > before) {
            long nowNs = System.nanoTime();
            if (before == 0) {
                firstNs = nowNs;
            } else {
                longestNs = Math.max(longestNs, nowNs - lastNs);
            }
            lastNs = nowNs;
        }
        return count;
    }

    private void see(byte next) {
        boolean isSecond = isAfterReturn && next == '\n';
        isAfterReturn = next == '\r';
        if (isSecond) {
            return;
        }
        if (next != '\n' && next != '\r') {
            isData &= column >= DATA.length || next == DATA[column];
            column = Math.min(column + 1, DATA.length);
            return;
        }
        if (isOfLines) {
            eventCount += column > 0 ? 1 : 0;
        } else if (column == 0) {
            eventCount += hasData ? 1 : 0;
            hasData = false;
        } else {
            hasData |= isData && column >= DATA.length - 1;
        }
        column = 0;
        isData = true;
    }

    /** Notes the answer, which was read to its end. */
    void record(String label, long endMs) {
        if (isOfLines && column > 0) { // of a known length: nothing was read after it
            eventCount++;
        }
        String line = String.format(
                Locale.ROOT, "%d,\"%s\",%d,%d,%d\n", endMs, label.replace("\"", "\"\""), eventCount,
                TimeUnit.NANOSECONDS.toMicros(lastNs - firstNs), TimeUnit.NANOSECONDS.toMicros(longestNs));
        write(line);
    }

    private static synchronized void write(String line) {
        if (isBroken) {
            return;
        }
        try {
            if (out == null) {
                out = Files.newBufferedWriter(FILE);
                out.write(HEAD);
                Runtime.getRuntime().addShutdownHook(new Thread(EventStream::closeFile));
            }
            out.write(line);
            if (System.nanoTime() - flushedNs > FLUSH_NS) { // a kill loses a second
                out.flush();
                flushedNs = System.nanoTime();
            }
        } catch (IOException | IllegalStateException error) {
            isBroken = true;
            System.err.println("the events of streamed answers are not stored: " + error);
        }
    }

    private static synchronized void closeFile() {
        try {
            out.close();
        } catch (IOException error) {
            System.err.println("the events of streamed answers are not all stored: " + error);
        }
        isBroken = true; // no line after it
    }
}
