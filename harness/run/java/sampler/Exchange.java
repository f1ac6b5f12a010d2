package harness.sampler;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.Socket;
import java.net.SocketException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.http.HttpClientConnection;
import org.apache.http.HttpConnectionMetrics;
import org.apache.http.HttpException;
import org.apache.http.HttpRequest;
import org.apache.http.HttpResponse;
import org.apache.http.NoHttpResponseException;
import org.apache.http.client.ClientProtocolException;
import org.apache.http.client.protocol.HttpClientContext;
import org.apache.http.config.Registry;
import org.apache.http.config.RegistryBuilder;
import org.apache.http.conn.ConnectionRequest;
import org.apache.http.conn.EofSensorWatcher;
import org.apache.http.conn.HttpClientConnectionManager;
import org.apache.http.conn.ManagedHttpClientConnection;
import org.apache.http.conn.socket.ConnectionSocketFactory;
import org.apache.http.conn.socket.PlainConnectionSocketFactory;
import org.apache.http.impl.DefaultConnectionReuseStrategy;
import org.apache.http.impl.conn.ConnectionShutdownException;
import org.apache.http.impl.execchain.RequestAbortedException;
import org.apache.http.protocol.HttpContext;
import org.apache.http.protocol.HttpRequestExecutor;
import org.apache.jmeter.samplers.SampleResult;

/**
 * One request and its response over a connection of JMeter's pool.
 *
 * It does what HttpClient's MainClientExec, RetryExec (without retries), ConnectionHolder and ResponseEntityProxy (4.5.14) do
 * for a direct route without authentication: the same calls of the pool and of the connection, the same exceptions.
 */
final class Exchange implements EofSensorWatcher {
    /** Gives access to the loop that skips 1xx responses. */
    private static final class Receiver extends HttpRequestExecutor {
        HttpResponse receive(HttpRequest request, HttpClientConnection connection, HttpClientContext context)
                throws HttpException, IOException {
            return doReceiveResponse(request, connection, context);
        }
    }

    /** How a connection that is not kept is ended. */
    private interface Ending {
        void end() throws IOException;
    }

    /** HTTPHC4Impl.CONTEXT_ATTRIBUTE_SAMPLER_RESULT. */
    private static final String RESULT = "__jmeter.S_R__";
    private static final Receiver RECEIVER = new Receiver();
    /** DefaultHttpClientConnectionOperator.SOCKET_FACTORY_REGISTRY. */
    private static final String REGISTRY = "http.socket-factory-registry";
    private static final Registry<ConnectionSocketFactory> SOCKETS = RegistryBuilder.<ConnectionSocketFactory>create()
            .register("https", new ConnectTimes.Secure())
            .register("http", new PlainConnectionSocketFactory() {
                @Override
                public Socket createSocket(HttpContext context) {
                    ConnectTimes.lookedUp(context);
                    return new TimedSocket();
                }
            })
            .build();

    private final HttpClientConnectionManager pool;
    private final EncodedRequest encoded;
    private final AtomicBoolean isReleased = new AtomicBoolean();
    private volatile boolean isAborted;
    private volatile HttpClientConnection connection;
    private HttpConnectionMetrics metrics;
    private boolean isReusable;
    private long keptMs;
    private Object state;

    Exchange(HttpClientConnectionManager pool, EncodedRequest encoded) {
        this.pool = pool;
        this.encoded = encoded;
    }

    /**
     * Returns the response, whose body is not read yet. JMeter sets the connect time of the result; `connectMs` and `readMs`
     * are time limits if they are positive.
     */
    HttpResponse send(Object user, SampleResult result, int connectMs, int readMs, HttpClientContext context)
            throws IOException {
        try {
            lease(user);
            if (!connection.isOpen()) {
                checkAborted();
                connect(result, Math.max(0, connectMs), context);
            }
            Socket socket = ((ManagedHttpClientConnection) connection).getSocket();
            if (readMs > 0) {
                if (socket instanceof TimedSocket timed) {
                    timed.limitReads(readMs);
                } else {
                    connection.setSocketTimeout(readMs);
                }
            }
            checkAborted();
            // Not through the connection's buffer, which would be encoded anew: it counts only what passes it.
            long beganNs = System.nanoTime();
            socket.getOutputStream().write(encoded.bytes());
            ConnectTimes.written(result, beganNs);
            metrics = connection.getMetrics();
            if (metrics.getReceivedBytesCount() > Internals.SMALL_BYTES) { // the response before this one
                Internals.restoreInput(connection);
            }
            metrics.reset();
            HttpResponse response = RECEIVER.receive(encoded.request(), connection, context);
            isReusable = encoded.isKept() && DefaultConnectionReuseStrategy.INSTANCE.keepAlive(response, encoded.reuse());
            keptMs = isReusable ? Internals.KEEP_ALIVE.getKeepAliveDuration(response, context) : 0;
            state = user;
            if (response.getEntity() == null || !response.getEntity().isStreaming()) {
                release(isReusable);
            }
            return response;
        } catch (ConnectionShutdownException error) {
            InterruptedIOException thrown = new InterruptedIOException("Connection has been shut down");
            thrown.initCause(error);
            throw thrown;
        } catch (HttpException error) {
            abort();
            throw new ClientProtocolException(error);
        } catch (NoHttpResponseException error) {
            abort();
            NoHttpResponseException named = new NoHttpResponseException(
                    encoded.route().getTargetHost().toHostString() + " failed to respond");
            named.setStackTrace(error.getStackTrace());
            throw isAborted ? error : named;
        } catch (IOException | RuntimeException error) {
            abort();
            throw error;
        }
    }

    private void connect(SampleResult result, int connectMs, HttpClientContext context) throws IOException {
        context.setAttribute(RESULT, result);
        context.setAttribute(REGISTRY, SOCKETS);
        ConnectTimes times = ConnectTimes.begin(context);
        try {
            pool.connect(connection, encoded.route(), connectMs, context);
            times.record(result.getSampleLabel());
            pool.routeComplete(connection, encoded.route(), context);
            Internals.shrinkBuffers(connection);
            Internals.spreadEnd(connection);
        } finally {
            context.removeAttribute(RESULT);
        }
    }

    private void lease(Object user) throws IOException {
        ConnectionRequest request = pool.requestConnection(encoded.route(), user);
        checkAborted();
        try {
            connection = request.get(0, TimeUnit.MILLISECONDS);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new RequestAbortedException("Request aborted", error);
        } catch (ExecutionException error) {
            throw new RequestAbortedException(
                    "Request execution failed", error.getCause() == null ? error : error.getCause());
        }
    }

    private void checkAborted() throws RequestAbortedException {
        if (isAborted) {
            throw new RequestAbortedException("Request aborted");
        }
    }

    /** Returns the bytes of the response so far. */
    long receivedBytes() {
        return metrics.getReceivedBytesCount();
    }

    /** Ends the exchange: a connection whose response was not read completely is closed. */
    void end() {
        release(false);
    }

    /** Called by another thread: the user must not wait for the response. */
    void interrupt() {
        isAborted = true;
        abort();
    }

    private void release(boolean isReusable) {
        HttpClientConnection leased = connection;
        if (leased == null || !isReleased.compareAndSet(false, true)) {
            return;
        }
        synchronized (leased) {
            if (isReusable) {
                pool.releaseConnection(leased, state, keptMs, TimeUnit.MILLISECONDS);
                return;
            }
            giveUp(leased, leased::close);
        }
    }

    private void abort() {
        HttpClientConnection leased = connection;
        if (leased == null || !isReleased.compareAndSet(false, true)) {
            return;
        }
        synchronized (leased) {
            giveUp(leased, leased::shutdown);
        }
    }

    private void giveUp(HttpClientConnection leased, Ending ending) {
        try {
            ending.end();
        } catch (IOException error) {
            // It is closed all the same.
        } finally {
            pool.releaseConnection(leased, null, 0, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public boolean eofDetected(InputStream body) throws IOException {
        try {
            body.close();
            release(isReusable);
        } catch (IOException | RuntimeException error) {
            abort();
            throw error;
        } finally {
            end();
        }
        return false;
    }

    @Override
    public boolean streamClosed(InputStream body) throws IOException {
        try {
            boolean isOpen = !isReleased.get();
            try {
                body.close();
                release(isReusable);
            } catch (SocketException error) {
                if (isOpen) {
                    throw error;
                }
            }
        } catch (IOException | RuntimeException error) {
            abort();
            throw error;
        } finally {
            end();
        }
        return false;
    }

    @Override
    public boolean streamAbort(InputStream body) {
        end();
        return false;
    }
}
