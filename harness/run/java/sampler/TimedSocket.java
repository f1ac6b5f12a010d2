package harness.sampler;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;

/**
 * A socket whose reads a {@link Watchdog} ends when they take too long.
 *
 * With SO_TIMEOUT Java reads in three system calls: one that has no data yet, poll, and another read. Here a read waits in one.
 * As with SO_TIMEOUT each read has the whole time, and data that have arrived in time are returned. After a read was
 * ended the socket has no more data. {@code setSoTimeout} switches back to SO_TIMEOUT.
 */
final class TimedSocket extends Socket {
    private static final VarHandle DUE;
    /** No read waits. */
    private static final long NONE = 0;
    /** A read was ended. */
    private static final long ENDED = -1;

    static {
        try {
            DUE = MethodHandles.lookup().findVarHandle(TimedSocket.class, "dueNs", long.class);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** When the read that waits is overdue, by {@link Watchdog#nowNs}. */
    private volatile long dueNs;
    /** The time of each read; 0 when SO_TIMEOUT has it. */
    private long limitNs;
    private int soTimeoutMs;
    private boolean isWatched;
    private volatile InputStream plain;

    /** Limits the reads from now on. */
    void limitReads(int limitMs) {
        limitNs = limitMs * 1_000_000L;
        if (!isWatched || Watchdog.isTooSlowFor(limitNs)) {
            isWatched = true;
            Watchdog.add(this, limitNs);
            if (isClosed()) { // meanwhile, by another thread
                Watchdog.remove(this);
            }
        }
    }

    @Override
    public void setSoTimeout(int timeoutMs) throws SocketException {
        limitNs = 0;
        if (timeoutMs != soTimeoutMs) { // HttpClient sets it back to 0 after each request
            soTimeoutMs = timeoutMs;
            super.setSoTimeout(timeoutMs);
        }
    }

    @Override
    public InputStream getInputStream() throws IOException {
        plain = super.getInputStream();
        return new FilterInputStream(plain) {
            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
            }

            @Override
            public int read(byte[] into, int from, int length) throws IOException {
                return limitNs > 0 ? timedRead(into, from, length) : in.read(into, from, length);
            }
        };
    }

    private int timedRead(byte[] into, int from, int length) throws IOException {
        long due = Watchdog.nowNs() + limitNs;
        boolean isInTime = DUE.compareAndSet(this, NONE, due);
        int count = -1;
        if (isInTime) {
            try {
                count = plain.read(into, from, length);
            } finally {
                isInTime = DUE.compareAndSet(this, due, NONE);
            }
        }
        if (!isInTime) {
            throw new SocketTimeoutException("Read timed out");
        }
        return count;
    }

    /** Ends the read that waits if it is overdue; returns when to look again, and Long.MAX_VALUE without a read. */
    long endOverdue(long nowNs) {
        long due = dueNs;
        if (due <= NONE) {
            return Long.MAX_VALUE;
        }
        if (due > nowNs) {
            return due;
        }
        try {
            if (plain.available() > 0) { // in time, but the user's thread does not run yet
                return nowNs;
            }
            if (DUE.compareAndSet(this, due, ENDED)) {
                shutdownInput();
            }
        } catch (IOException error) {
            // It is closed, which has ended the read.
        }
        return Long.MAX_VALUE;
    }

    @Override
    public void close() throws IOException {
        super.close();
        Watchdog.remove(this);
    }
}
