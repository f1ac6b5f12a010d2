package harness.sampler;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** A small HTTP server of the loopback interface, with a thread per connection, that gives the same answer to each request. */
final class WarmServer implements AutoCloseable {
    private static final int BUFFER = 16 * 1024;
    private static final String LENGTH = "\r\ncontent-length:";

    private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final LongAdder count = new LongAdder();
    private byte[] answer;

    WarmServer() throws IOException {}

    /** Answers requests from now on. */
    void start(byte[] given) {
        answer = given;
        start(this::accept);
    }

    int port() {
        return listening.getLocalPort();
    }

    /** Returns the number of requests that were answered. */
    long count() {
        return count.sum();
    }

    private static void start(Runnable action) {
        Thread thread = new Thread(action, "warm-up server");
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = listening.accept();
                socket.setTcpNoDelay(true);
                open.add(socket);
                start(() -> serve(socket));
            }
        } catch (IOException error) {
            // It is closed.
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            InputStream in = socket.getInputStream();
            OutputStream out = socket.getOutputStream();
            byte[] buffer = new byte[BUFFER];
            int filled = 0;
            while (true) {
                int end = endOf(buffer, filled);
                if (end < 0) {
                    int read = filled < buffer.length ? in.read(buffer, filled, buffer.length - filled) : -1;
                    if (read < 0) {
                        return;
                    }
                    filled += read;
                    continue;
                }
                long left = bodyLength(buffer, end);
                int here = (int) Math.min(left, filled - end);
                in.skipNBytes(left - here);
                filled -= end + here;
                System.arraycopy(buffer, end + here, buffer, 0, filled);
                count.increment();
                out.write(answer);
            }
        } catch (IOException error) {
            // The client or the server has closed it.
        } finally {
            open.remove(socket);
        }
    }

    /** Returns where the head of a request ends; -1 when it is not complete. */
    private static int endOf(byte[] buffer, int filled) {
        for (int at = 3; at < filled; at++) {
            if (buffer[at] == '\n' && buffer[at - 1] == '\r' && buffer[at - 2] == '\n' && buffer[at - 3] == '\r') {
                return at + 1;
            }
        }
        return -1;
    }

    private static long bodyLength(byte[] buffer, int end) {
        if (buffer[0] == 'G') {
            return 0;
        }
        String head = new String(Arrays.copyOf(buffer, end), StandardCharsets.ISO_8859_1).toLowerCase(Locale.ROOT);
        int at = head.indexOf(LENGTH);
        return at < 0 ? 0 : Long.parseLong(head.substring(at + LENGTH.length(), head.indexOf("\r\n", at + 2)).strip());
    }

    @Override
    public void close() throws IOException {
        listening.close();
        for (Socket socket : open) {
            socket.close();
        }
    }
}
