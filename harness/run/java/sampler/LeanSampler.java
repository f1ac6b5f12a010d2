package harness.sampler;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.commons.lang3.tuple.MutableTriple;
import org.apache.http.Header;
import org.apache.http.HttpEntity;
import org.apache.http.HttpException;
import org.apache.http.HttpResponse;
import org.apache.http.auth.AuthProtocolState;
import org.apache.http.auth.AuthState;
import org.apache.http.auth.Credentials;
import org.apache.http.client.ClientProtocolException;
import org.apache.http.client.methods.HttpRequestBase;
import org.apache.http.client.protocol.HttpClientContext;
import org.apache.http.conn.EofSensorInputStream;
import org.apache.http.conn.HttpClientConnectionManager;
import org.apache.http.entity.HttpEntityWrapper;
import org.apache.jmeter.protocol.http.control.AuthManager;
import org.apache.jmeter.protocol.http.control.Authorization;
import org.apache.jmeter.protocol.http.control.CacheManager;
import org.apache.jmeter.protocol.http.control.CookieManager;
import org.apache.jmeter.protocol.http.control.HeaderManager;
import org.apache.jmeter.protocol.http.sampler.HTTPSampleResult;
import org.apache.jmeter.protocol.http.sampler.HTTPSamplerBase;
import org.apache.jmeter.protocol.http.util.HTTPArgument;
import org.apache.jmeter.testelement.property.JMeterProperty;
import org.apache.jmeter.threads.JMeterContextService;
import org.apache.jmeter.threads.JMeterVariables;
import org.apache.jmeter.util.JMeterUtils;

/**
 * JMeter's HTTP sampler with a shorter way to the connection: requests and results are those of HTTPHC4Impl (5.6.3).
 *
 * A request is encoded when one of its values changed, and sent over a connection of JMeter's own pool, without HttpClient's
 * chain of executors. A request that needs more than {@link #isSupported} lists goes through JMeter's own sampler, over the
 * same connections.
 */
public final class LeanSampler extends OwnSampler {
    private static final Set<String> METHODS = Set.of("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS");
    private static final Set<String> WITHOUT_BODY = Set.of("HEAD", "OPTIONS");
    /** Up to this length the first bytes of a body may be all: HTTPSamplerBase reads 8 KB at once. */
    private static final int MOST_SMALL =
            JMeterUtils.getPropDefault("httpsampler.max_bytes_to_store_per_request", 0) > 0 ? 0 : 8192;
    /** HTTPHC4Impl.JMETER_VARIABLE_USER_TOKEN. */
    private static final String USER = "__jmeter.U_T__";
    /** Has the numbers of requests that were sent this way, and by JMeter's own sampler; written when JMeter ends. */
    private static final Path COUNTS = Path.of(".http-requests.json");
    private static final LongAdder LEAN = new LongAdder();
    private static final LongAdder OTHER = new LongAdder();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(LeanSampler::writeCounts));
    }

    /** Requests that users may have in common. */
    private static final Map<List<Object>, EncodedRequest> SHARED = new ConcurrentHashMap<>();
    private static final int MOST_SHARED = 1000;
    private static final int MOST_MISSES = 3;
    /** Addresses that have taken credentials by Basic; before, only HttpClient knows how to answer a challenge. */
    private static final Set<String> ACCEPTED = ConcurrentHashMap.newKeySet();

    private final HttpClientContext context = HttpClientContext.create();
    /** The latest request; null for a sampler whose requests differ each time: it would only take memory. */
    private EncodedRequest encoded;
    private int missCount;
    /** JMeter's HttpClient, its credentials for a proxy, and its pool. */
    private MutableTriple<?, ?, ?> client;
    /** The credentials that HttpClient keeps, and those that were sent with the latest request. */
    private Map<?, ?> credentials = Map.of();
    private Credentials sent;
    private String poolScheme;
    private String poolAuthority;
    /** The server asked for other credentials than those that were sent, which only HttpClient can answer. */
    private boolean isChallenged;
    private volatile Exchange current;

    public LeanSampler(HTTPSamplerBase element) {
        super(element);
    }

    @Override
    protected HTTPSampleResult sample(URL url, String method, boolean isRedirect, int depth) {
        begin(url, isRedirect, depth);
        JMeterVariables variables = JMeterContextService.getContext().getVariables();
        EncodedRequest request = null;
        try {
            if (variables != null && isSupported(url, method)) {
                request = request(url, method, isRedirect, variables);
            }
        } catch (Exception error) {
            // JMeter's own sampler makes the result of a request that cannot be sent.
        }
        if (request == null) {
            return ownSample(url, method, isRedirect, depth);
        }
        HTTPSampleResult result = createSampleResult(url, method);
        result.setCookies(request.cookies());
        result.setQueryString(request.body());
        try {
            findPool(url, variables);
        } catch (Exception error) {
            return errorResult(error, started(result));
        }
        if (client.getMiddle() instanceof AuthState ofProxy && ofProxy.getState() != AuthProtocolState.UNCHALLENGED) {
            return ownSample(url, method, isRedirect, depth); // an earlier response asked for credentials
        }
        LEAN.increment();
        if (getAuthManager() == null && !credentials.isEmpty()) { // as HTTPHC4Impl does before each request
            credentials.clear();
        }
        Object known = variables.getObject(USER);
        Object user = known == null ? Thread.currentThread().getName() : known;
        Exchange exchange = new Exchange((HttpClientConnectionManager) client.getRight(), request);
        result.sampleStart();
        try {
            current = exchange;
            HttpResponse response = exchange.send(user, result, getConnectTimeout(), getResponseTimeout(), context);
            if (getAuthManager() != null && isAnswered(response, request, url, method, isRedirect)) {
                isChallenged = true;
                exchange.end();
                current = null;
                return ownSample(url, method, isRedirect, depth);
            }
            if (known == null) {
                variables.putObject(USER, user);
            }
            result.setRequestHeaders(request.headers());
            EventStream stream = read(response, exchange, result);
            result.sampleEnd();
            if (stream != null) {
                stream.record(result.getSampleLabel(), result.getEndTime());
            }
            current = null;
            Results.fill(result, response, request, exchange.receivedBytes(), this::isSuccessCode);
            saveCookies(response, result.getURL());
            return resultProcessing(isRedirect, depth, result);
        } catch (IOException error) {
            if (result.getEndTime() == 0) {
                result.sampleEnd();
            }
            result.setRequestHeaders(request.headers());
            return errorResult(error, result);
        } catch (RuntimeException error) {
            if (result.getEndTime() == 0) {
                result.sampleEnd();
            }
            return errorResult(error, result);
        } finally {
            exchange.end();
            current = null;
        }
    }

    /** Sends a request by JMeter's own sampler; notes that an address took the credentials that nobody had asked for. */
    private HTTPSampleResult ownSample(URL url, String method, boolean isRedirect, int depth) {
        OTHER.increment();
        Internals.restoreBuffers();
        HTTPSampleResult result = super.sample(url, method, isRedirect, depth);
        String headers = getAuthManager() == null ? "" : result.getRequestHeaders();
        if (headers.contains("Authorization: Basic ") && !isRefused(result.getResponseCode())) {
            ACCEPTED.add(address(url));
        }
        return result;
    }

    private static boolean isRefused(String code) {
        return code.equals("401") || code.equals("407");
    }

    private static String address(URL url) {
        return url.getProtocol() + "://" + url.getAuthority();
    }

    private static void writeCounts() {
        try {
            Files.writeString(COUNTS, String.format("{\"lean\": %d, \"jmeter\": %d}%n", LEAN.sum(), OTHER.sum()));
        } catch (IOException error) {
            System.err.println("the requests of the lean HTTP sampler are not counted: " + error);
        }
    }

    /** Forgets the requests so far, of the warm-up. */
    static void forget() {
        SHARED.clear();
        LEAN.reset();
        OTHER.reset();
    }

    private static HTTPSampleResult started(HTTPSampleResult result) {
        result.sampleStart();
        result.sampleEnd();
        return result;
    }

    /** Returns whether a request needs nothing that only HttpClient's executors do. */
    private boolean isSupported(URL url, String method) {
        return METHODS.contains(method)
                && url.getUserInfo() == null
                && !getAutoRedirects()
                && !testElement.isImageParser()
                && (getAuthManager() == null || isAccepted(url))
                && getCacheManager() == null
                && localAddress == null
                && getIpSource().isBlank()
                && Internals.RETRY_COUNT == 0
                && CPS_HTTP == 0
                && !isStaticProxy(url.getHost())
                && !isDynamicProxy(getProxyHost(), getProxyPortInt());
    }

    private boolean isAccepted(URL url) {
        return Internals.IS_PREEMPTIVE && !isChallenged && ACCEPTED.contains(address(url));
    }

    /** Returns the request, encoded anew if one of its values changed; null when only HttpClient can send it. */
    private EncodedRequest request(URL url, String method, boolean isRedirect, JMeterVariables variables)
            throws Exception {
        List<Object> inputs = new ArrayList<>(24);
        inputs.add(method);
        inputs.add(url.getProtocol());
        inputs.add(url.getAuthority());
        inputs.add(url.getFile());
        inputs.add(url.getRef());
        inputs.add(isRedirect);
        inputs.add(getUseKeepAlive());
        HeaderManager headers = getHeaderManager();
        if (headers != null) {
            for (JMeterProperty property : headers.getHeaders()) {
                var header = (org.apache.jmeter.protocol.http.control.Header) property.getObjectValue();
                inputs.add(header.getName());
                inputs.add(header.getValue());
            }
        }
        CookieManager cookies = getCookieManager();
        inputs.add(cookies == null ? null : cookies.getCookieHeaderForURL(url));
        AuthManager manager = getAuthManager();
        if (!addBody(inputs, method) || manager != null && !addCredentials(inputs, url, manager, variables)) {
            return null;
        }
        if (encoded != null && encoded.inputs().equals(inputs) && (manager == null || areKept(sent))) {
            missCount = 0;
            return encoded;
        }
        boolean isShared = missCount == 0 && manager == null; // each user's HttpClient keeps the credentials
        EncodedRequest request = isShared ? SHARED.get(inputs) : null;
        if (request == null) {
            request = encode(inputs, url, method, isRedirect, ownContext());
            if (isShared && request != null && SHARED.size() < MOST_SHARED && request.bytes().length <= MOST_SMALL) {
                SHARED.put(inputs, request);
            }
        }
        sent = manager == null ? null : onlyCredentials();
        encoded = ++missCount > MOST_MISSES ? null : request;
        return request;
    }

    /** Adds the values from which JMeter makes the body; returns false for files and parts. */
    private boolean addBody(List<Object> inputs, String method) {
        if (WITHOUT_BODY.contains(method)) {
            return true;
        }
        if (testElement.getHTTPFileCount() > 0 || getUseMultipart()) {
            return false;
        }
        inputs.add(getContentEncoding());
        inputs.add(testElement.getPostBodyRaw());
        for (JMeterProperty property : getArguments()) {
            if (!(property.getObjectValue() instanceof HTTPArgument argument)) {
                return false;
            }
            inputs.add(argument.getName());
            inputs.add(argument.getValue());
            inputs.add(argument.isAlwaysEncoded());
        }
        return true;
    }

    /** Adds the credentials; returns false when they are not for Basic, which HttpClient sends unasked. */
    private boolean addCredentials(List<Object> inputs, URL url, AuthManager manager, JMeterVariables variables)
            throws Exception {
        Authorization own = manager.getAuthForURL(url);
        if (own == null || own.getMechanism() != AuthManager.Mechanism.BASIC) {
            return false;
        }
        for (JMeterProperty property : manager.getAuthObjects()) {
            var one = (Authorization) property.getObjectValue();
            inputs.add(List.of(one.getURL(), one.getUser(), one.getPass(), one.getRealm(), one.getMechanism()));
        }
        findPool(url, variables);
        return true;
    }

    /** Returns the credentials that HttpClient keeps; null for several, where earlier requests decide which are sent. */
    private Credentials onlyCredentials() {
        return credentials.size() == 1 ? (Credentials) credentials.values().iterator().next() : null;
    }

    private boolean areKept(Credentials earlier) {
        Credentials now = onlyCredentials();
        return now != null && now.equals(earlier) && Objects.equals(now.getPassword(), earlier.getPassword());
    }

    /** Encodes a request in the context in which HttpClient would send it. */
    private EncodedRequest encode(
            List<Object> inputs, URL url, String method, boolean isRedirect, HttpClientContext own) throws Exception {
        HttpRequestBase request = Internals.request(this, url.toURI(), method, isRedirect);
        HTTPSampleResult shown = new HTTPSampleResult();
        setupRequest(url, request, shown);
        handleMethod(method, shown, request, context);
        return EncodedRequest.of(inputs, request, shown.getCookies(), shown.getQueryString(), own);
    }

    private HttpClientContext ownContext() throws Exception {
        AuthManager manager = getAuthManager();
        return manager == null ? HttpClientContext.create() : Internals.context(client.getLeft(), manager);
    }

    /** Returns whether HttpClient would answer a response to credentials with other credentials. */
    private boolean isAnswered(
            HttpResponse response, EncodedRequest request, URL url, String method, boolean isRedirect) {
        if (!isRefused(Integer.toString(response.getStatusLine().getStatusCode()))) {
            return false;
        }
        try {
            HttpClientContext own = ownContext();
            encode(request.inputs(), url, method, isRedirect, own);
            return EncodedRequest.isAnswered(response, own);
        } catch (Exception error) {
            return true;
        }
    }

    /** Finds the pool of the address; the first sample of a new user asks JMeter, which closes connections then. */
    private void findPool(URL url, JMeterVariables variables) throws Exception {
        if (client == null
                || resetStateOnThreadGroupIteration.get()
                || !url.getProtocol().equals(poolScheme)
                || !url.getAuthority().equals(poolAuthority)) {
            client = Internals.client(this, url, variables);
            credentials = Internals.credentials(client.getLeft());
            poolScheme = url.getProtocol();
            poolAuthority = url.getAuthority();
        }
    }

    /** Reads the body into the result; returns its events when it is a stream of them, else null. */
    private EventStream read(HttpResponse response, Exchange exchange, HTTPSampleResult result) throws IOException {
        HttpEntity entity = response.getEntity();
        if (entity != null && entity.isStreaming()) {
            if (entity.getContentEncoding() != null) {
                unpack(response, exchange);
            } else {
                Results.setType(result, response);
                InputStream body = new EofSensorInputStream(entity.getContent(), exchange);
                EventStream stream = EventStream.orNull(body, result.getContentType());
                body = stream == null ? body : stream;
                long length = entity.getContentLength();
                boolean isSmall = 0 < length && length <= MOST_SMALL && !testElement.useMD5();
                result.setResponseData(
                        isSmall ? Results.small(result, body, (int) length) : readResponse(result, body, length));
                return stream;
            }
        }
        Results.setType(result, response);
        entity = response.getEntity();
        if (entity == null) {
            return null;
        }
        InputStream content = entity.getContent();
        EventStream stream = EventStream.orNull(content, result.getContentType());
        result.setResponseData(readResponse(result, stream == null ? content : stream, entity.getContentLength()));
        return stream;
    }

    private void unpack(HttpResponse response, Exchange exchange) throws IOException {
        response.setEntity(new HttpEntityWrapper(response.getEntity()) {
            @Override
            public InputStream getContent() throws IOException {
                return new EofSensorInputStream(super.getContent(), exchange);
            }
        });
        try {
            Internals.UNPACK.process(response, context);
        } catch (HttpException error) {
            throw new ClientProtocolException(error);
        }
    }

    private void saveCookies(HttpResponse response, URL url) {
        CookieManager cookies = getCookieManager();
        if (cookies != null) {
            for (Header header : response.getHeaders("Set-Cookie")) {
                cookies.addCookieFromHeader(header.getValue(), url);
            }
        }
    }

    @Override
    public boolean interrupt() {
        Exchange exchange = current;
        if (exchange == null) {
            return super.interrupt();
        }
        current = null;
        exchange.interrupt();
        return true;
    }
}
