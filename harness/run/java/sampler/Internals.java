package harness.sampler;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.URI;
import java.net.URL;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.commons.lang3.tuple.MutableTriple;
import org.apache.http.HttpClientConnection;
import org.apache.http.HttpConnection;
import org.apache.http.HttpRequestInterceptor;
import org.apache.http.HttpResponseInterceptor;
import org.apache.http.client.methods.HttpRequestBase;
import org.apache.http.client.protocol.HttpClientContext;
import org.apache.http.conn.ConnectionKeepAliveStrategy;
import org.apache.http.impl.client.BasicCredentialsProvider;
import org.apache.http.impl.io.SessionInputBufferImpl;
import org.apache.http.pool.PoolEntry;
import org.apache.http.util.ByteArrayBuffer;
import org.apache.jmeter.protocol.http.control.AuthManager;
import org.apache.jmeter.protocol.http.sampler.HTTPHC4Impl;
import org.apache.jmeter.threads.JMeterVariables;

/** The private parts of JMeter's HTTP sampler that {@link LeanSampler} uses as they are. */
final class Internals {
    private static final MethodHandle KEY = method("createHttpClientKey");
    private static final MethodHandle CLIENT = method("setupClient");
    private static final MethodHandle REQUEST = method("createHttpRequest");
    /** Unpacks gzip, deflate and br, and keeps the headers that say so. */
    static final HttpResponseInterceptor UNPACK = (HttpResponseInterceptor) constant("RESPONSE_CONTENT_ENCODING");
    static final ConnectionKeepAliveStrategy KEEP_ALIVE = (ConnectionKeepAliveStrategy) constant("IDLE_STRATEGY");
    static final int RETRY_COUNT = (Integer) constant("RETRY_COUNT");
    static final boolean HAS_DEFAULT_USER_AGENT = !(Boolean) constant("DISABLE_DEFAULT_UA");
    static final boolean IS_PREEMPTIVE = (Boolean) constant("BASIC_AUTH_PREEMPTIVE");
    static final HttpRequestInterceptor PREEMPTIVE = (HttpRequestInterceptor) constant("PREEMPTIVE_AUTH_INTERCEPTOR");
    /** HTTPHC4Impl.CONTEXT_ATTRIBUTE_AUTH_MANAGER. */
    static final String AUTH_MANAGER = "__jmeter.A_M__";
    private static final Field CREDENTIALS = field("org.apache.http.impl.client.InternalHttpClient", "credentialsProvider");
    private static final MethodHandle PREPARE = method(CREDENTIALS.getDeclaringClass(), "setupContext");
    private static final Field STORED = field(BasicCredentialsProvider.class.getName(), "credMap");
    private static final Field LEASED = field("org.apache.http.impl.conn.CPoolProxy", "poolEntry");
    private static final Field INPUT = field("org.apache.http.impl.BHttpConnectionBase", "inBuffer");
    private static final Field LINE = field("org.apache.http.impl.io.SessionInputBufferImpl", "lineBuffer");
    private static final Field READ = field("org.apache.http.impl.io.SessionInputBufferImpl", "buffer");
    private static final Field OUTPUT = field("org.apache.http.impl.BHttpConnectionBase", "outbuffer");
    private static final Field WRITTEN = field("org.apache.http.impl.io.SessionOutputBufferImpl", "buffer");
    private static final Field VALID_UNTIL = field(PoolEntry.class.getName(), "validityDeadline");
    private static final int LINE_BYTES = 256;
    /** HttpClient's buffers for reading and for writing, and what is left of that for writing: most heads have room. */
    private static final int BUFFER_BYTES = 8 * 1024;
    private static final int LEFT_BYTES = 512;
    /** The longest response, with its head, for which a connection keeps a buffer of this size for reading. */
    static final int SMALL_BYTES = 2 * 1024;
    /** What part of their time to live connections are apart, and how many were opened: their parts are far from each other. */
    private static final double SPREAD = 0.2;
    private static final double GOLDEN = (Math.sqrt(5) - 1) / 2;
    private static final AtomicInteger OPENED = new AtomicInteger();
    /** The connections of the thread whose buffers are smaller. */
    private static final ThreadLocal<List<HttpConnection>> SHRUNK = new ThreadLocal<>();

    private Internals() {}

    /**
     * Returns HttpClient, on the left, and the pool, on the right, of the thread's connections to an address, which JMeter's
     * own requests share; JMeter creates them, and closes connections first when the user is a new one.
     */
    static MutableTriple<?, ?, ?> client(HTTPHC4Impl sampler, URL url, JMeterVariables variables) throws Exception {
        try {
            HttpClientContext context = HttpClientContext.create();
            return (MutableTriple<?, ?, ?>) CLIENT.invoke(sampler, KEY.invoke(sampler, url), variables, context);
        } catch (Throwable error) {
            throw unchecked(error);
        }
    }

    /** Returns the credentials that an HttpClient of JMeter keeps; none when they are not its own. */
    static Map<?, ?> credentials(Object client) throws IllegalAccessException {
        Object provider = CREDENTIALS.get(client);
        return provider.getClass() == BasicCredentialsProvider.class ? (Map<?, ?>) STORED.get(provider) : Map.of();
    }

    /** Returns the context in which an HttpClient of JMeter would send a request with this Authorization Manager. */
    static HttpClientContext context(Object client, AuthManager manager) throws Exception {
        HttpClientContext context = HttpClientContext.create();
        try {
            PREPARE.invoke(client, context);
        } catch (Throwable error) {
            throw unchecked(error);
        }
        context.setAttribute(AUTH_MANAGER, manager);
        return context;
    }

    /** Returns the request without headers and body. */
    static HttpRequestBase request(HTTPHC4Impl sampler, URI uri, String method, boolean isRedirect) throws Exception {
        try {
            return (HttpRequestBase) REQUEST.invoke(sampler, uri, method, isRedirect);
        } catch (Throwable error) {
            throw unchecked(error);
        }
    }

    /**
     * Gives a new connection of the pool smaller buffers, which each user would keep: for a line that comes in two reads,
     * where HttpClient's has 8 KB and this one grows, for writing, which a request that is written at once does not use, and
     * for reading, until {@link #restoreInput}; Java has another one of that size outside the heap for each user.
     */
    static void shrinkBuffers(HttpClientConnection leased) {
        try {
            var connection = (HttpConnection) ((PoolEntry<?, ?>) LEASED.get(leased)).getConnection();
            LINE.set(INPUT.get(connection), new ByteArrayBuffer(LINE_BYTES));
            READ.set(INPUT.get(connection), new byte[SMALL_BYTES]);
            WRITTEN.set(OUTPUT.get(connection), new ByteArrayBuffer(LEFT_BYTES));
            List<HttpConnection> shrunk = SHRUNK.get();
            if (shrunk == null) {
                shrunk = new ArrayList<>(1);
                SHRUNK.set(shrunk);
            }
            shrunk.removeIf(one -> !one.isOpen());
            shrunk.add(connection);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    /**
     * Ends a new connection's time to live up to a fifth earlier, each one at another time: users who began together would
     * all connect again within a moment, each minute (httpclient4.time_to_live), which no clients of a system do.
     */
    static void spreadEnd(HttpClientConnection leased) {
        try {
            var entry = (PoolEntry<?, ?>) LEASED.get(leased);
            long untilMs = entry.getValidityDeadline();
            if (untilMs < Long.MAX_VALUE) {
                double part = OPENED.getAndIncrement() * GOLDEN % 1;
                VALID_UNTIL.setLong(entry, untilMs - (long) (SPREAD * part * (untilMs - entry.getCreated())));
            }
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Gives a connection HttpClient's buffer for reading again: its responses would need one read more. */
    static void restoreInput(HttpClientConnection leased) {
        try {
            var entry = (PoolEntry<?, ?>) LEASED.get(leased);
            if (entry != null) { // another thread may have closed the connection
                restoreInput(entry.getConnection());
            }
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void restoreInput(Object connection) throws IllegalAccessException {
        var input = (SessionInputBufferImpl) INPUT.get(connection);
        if (((byte[]) READ.get(input)).length < BUFFER_BYTES && !input.hasBufferedData()) {
            READ.set(input, new byte[BUFFER_BYTES]);
        }
    }

    /** Gives the user's connections their buffers again: HttpClient is about to use them. */
    static void restoreBuffers() {
        List<HttpConnection> shrunk = SHRUNK.get();
        if (shrunk == null) {
            return;
        }
        try {
            for (HttpConnection connection : shrunk) {
                WRITTEN.set(OUTPUT.get(connection), new ByteArrayBuffer(BUFFER_BYTES));
                restoreInput(connection);
            }
            SHRUNK.remove();
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Exception unchecked(Throwable error) {
        if (error instanceof Error serious) {
            throw serious;
        }
        return error instanceof Exception exception ? exception : new IllegalStateException(error);
    }

    private static MethodHandle method(String name) {
        return method(HTTPHC4Impl.class, name);
    }

    private static MethodHandle method(Class<?> owner, String name) {
        Method method = Arrays.stream(owner.getDeclaredMethods())
                .filter(one -> one.getName().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("no method " + owner.getName() + "." + name));
        method.setAccessible(true);
        try {
            return MethodHandles.lookup().unreflect(method);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Object constant(String name) {
        try {
            return field(HTTPHC4Impl.class.getName(), name).get(null);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Field field(String owner, String name) {
        try {
            Field field = Class.forName(owner).getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }
}
