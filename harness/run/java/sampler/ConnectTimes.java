package harness.sampler;

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import org.apache.http.HttpHost;
import org.apache.http.conn.socket.LayeredConnectionSocketFactory;
import org.apache.http.protocol.HttpContext;
import org.apache.jmeter.protocol.http.sampler.hc.LazyLayeredConnectionSocketFactory;
import org.apache.jmeter.samplers.SampleResult;

/**
 * What opening a connection takes: the look-up of the name until the first socket, and the TLS handshake after connecting.
 *
 * It tells the agent these times, and how long a request was written.
 */
final class ConnectTimes {
    private static final String KEY = "harness.connect";
    /** What is written in less time only filled a buffer. */
    private static final long LEAST_WRITTEN_NS = 1_000_000L;
    /** Amounts.connected and Amounts.written of the agent; null without it. */
    private static final MethodHandle RECORD = of("connected", String.class, long.class, long.class);
    private static final MethodHandle WRITTEN = of("written", String.class, long.class);

    private final long beganNs = System.nanoTime();
    private long lookedUpNs;
    private long connectedNs;
    private boolean isSecure;

    private ConnectTimes() {}

    private static MethodHandle of(String method, Class<?>... arguments) {
        try {
            Class<?> agent = Class.forName("Amounts", true, null);
            return MethodHandles.publicLookup().findStatic(agent, method, MethodType.methodType(void.class, arguments));
        } catch (ReflectiveOperationException error) {
            return null;
        }
    }

    /** Returns the times of a connection that is about to be opened in a context. */
    static ConnectTimes begin(HttpContext context) {
        ConnectTimes times = new ConnectTimes();
        context.setAttribute(KEY, times);
        return times;
    }

    /** Notes that the address is known; of a name with several the first socket counts. */
    static ConnectTimes lookedUp(HttpContext context) {
        ConnectTimes times = (ConnectTimes) context.getAttribute(KEY);
        if (times != null && times.lookedUpNs == 0) {
            times.lookedUpNs = System.nanoTime();
        }
        return times;
    }

    /** Notes the connection, which is open and secure. */
    void record(String label) {
        if (RECORD == null || lookedUpNs == 0) {
            return;
        }
        long handshakeNs = isSecure && connectedNs != 0 ? System.nanoTime() - connectedNs : -1;
        try {
            RECORD.invokeExact(label, lookedUpNs - beganNs, handshakeNs);
        } catch (RuntimeException | Error error) {
            throw error;
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
    }

    /** Notes that the request of a sample was written, since a time. */
    static void written(SampleResult result, long beganNs) {
        long tookNs = System.nanoTime() - beganNs;
        if (tookNs < LEAST_WRITTEN_NS || WRITTEN == null) {
            return;
        }
        try {
            WRITTEN.invokeExact(result.getSampleLabel(), tookNs);
        } catch (RuntimeException | Error error) {
            throw error;
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
    }

    /** JMeter's TLS, with sockets that note when they are connected. */
    static final class Secure implements LayeredConnectionSocketFactory {
        private final LazyLayeredConnectionSocketFactory own = new LazyLayeredConnectionSocketFactory();

        @Override
        public Socket createSocket(HttpContext context) {
            ConnectTimes times = lookedUp(context);
            return new Socket() {
                @Override
                public void connect(SocketAddress address, int timeoutMs) throws IOException {
                    super.connect(address, timeoutMs);
                    if (times != null) {
                        times.isSecure = true;
                        times.connectedNs = System.nanoTime();
                    }
                }
            };
        }

        @Override
        public Socket connectSocket(
                int timeoutMs, Socket socket, HttpHost host, InetSocketAddress remote, InetSocketAddress local,
                HttpContext context) throws IOException {
            return own.connectSocket(timeoutMs, socket, host, remote, local, context);
        }

        @Override
        public Socket createLayeredSocket(Socket socket, String host, int port, HttpContext context) throws IOException {
            return own.createLayeredSocket(socket, host, port, context);
        }
    }
}
