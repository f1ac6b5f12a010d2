package harness.sampler;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
import org.apache.http.Header;
import org.apache.http.HttpEntity;
import org.apache.http.HttpEntityEnclosingRequest;
import org.apache.http.HttpException;
import org.apache.http.HttpHeaders;
import org.apache.http.HttpHost;
import org.apache.http.HttpRequest;
import org.apache.http.HttpResponse;
import org.apache.http.HttpStatus;
import org.apache.http.HttpVersion;
import org.apache.http.auth.AuthState;
import org.apache.http.client.methods.HttpRequestBase;
import org.apache.http.client.methods.HttpRequestWrapper;
import org.apache.http.client.protocol.HttpClientContext;
import org.apache.http.client.protocol.RequestAuthCache;
import org.apache.http.client.protocol.RequestClientConnControl;
import org.apache.http.client.protocol.RequestExpectContinue;
import org.apache.http.client.utils.URIUtils;
import org.apache.http.conn.routing.HttpRoute;
import org.apache.http.impl.auth.BasicScheme;
import org.apache.http.impl.auth.HttpAuthenticator;
import org.apache.http.impl.client.DefaultClientConnectionReuseStrategy;
import org.apache.http.impl.client.ProxyAuthenticationStrategy;
import org.apache.http.impl.client.TargetAuthenticationStrategy;
import org.apache.http.impl.conn.DefaultRoutePlanner;
import org.apache.http.impl.conn.DefaultSchemePortResolver;
import org.apache.http.impl.io.DefaultHttpRequestWriter;
import org.apache.http.impl.io.HttpTransportMetricsImpl;
import org.apache.http.impl.io.SessionOutputBufferImpl;
import org.apache.http.message.BasicHttpResponse;
import org.apache.http.protocol.BasicHttpContext;
import org.apache.http.protocol.HttpContext;
import org.apache.http.protocol.HttpCoreContext;
import org.apache.http.protocol.HttpProcessor;
import org.apache.http.protocol.ImmutableHttpProcessor;
import org.apache.http.protocol.RequestContent;
import org.apache.http.protocol.RequestTargetHost;
import org.apache.http.protocol.RequestUserAgent;
import org.apache.http.util.VersionInfo;

/**
 * A request as HttpClient would send it: built by its own processors and writer, in the order of HttpClientBuilder and
 * ProtocolExec (4.5.14).
 *
 * `inputs` are the values it was made from, `line` its first line with the whole URL, `headers` its headers as JMeter shows
 * them, without cookies. `isKept` is whether the request itself allows to keep the connection, and `reuse` what else of it
 * decides that: whether it is a HEAD.
 */
record EncodedRequest(
        List<Object> inputs,
        String line,
        HttpRequest request,
        HttpRoute route,
        byte[] bytes,
        String headers,
        String cookies,
        String body,
        boolean isKept,
        HttpContext reuse) {
    private static final HttpContext WITH_BODY = new BasicHttpContext();
    private static final int BUFFER = 8 * 1024;
    private static final String AGENT = Internals.HAS_DEFAULT_USER_AGENT
            ? VersionInfo.getUserAgent("Apache-HttpClient", "org.apache.http.client", EncodedRequest.class)
            : null;
    private static final HttpProcessor PROCESSOR = new ImmutableHttpProcessor(
            new RequestContent(),
            new RequestTargetHost(),
            new RequestClientConnControl(),
            new RequestUserAgent(AGENT),
            new RequestExpectContinue());
    private static final HttpResponse KEPT = new BasicHttpResponse(HttpVersion.HTTP_1_1, HttpStatus.SC_NOT_MODIFIED, "");
    private static final HttpAuthenticator AUTHENTICATOR = new HttpAuthenticator();
    private static final DefaultRoutePlanner ROUTES = new DefaultRoutePlanner(DefaultSchemePortResolver.INSTANCE);

    /**
     * Returns the request with its body; null when only HttpClient can send it. In a context with an Authorization Manager
     * the request must be one with which HttpClient sends credentials unasked, by Basic.
     */
    static EncodedRequest of(
            List<Object> inputs, HttpRequestBase original, String cookies, String body, HttpClientContext context)
            throws IOException, HttpException, URISyntaxException {
        URI uri = original.getURI();
        HttpHost host = URIUtils.extractHost(uri);
        if (host == null
                || original.containsHeader(HttpHeaders.EXPECT)
                || original.containsHeader(HttpHeaders.TRANSFER_ENCODING)) {
            return null;
        }
        HttpRequestWrapper request = HttpRequestWrapper.wrap(original, host);
        context.setRequestConfig(original.getConfig());
        HttpRoute route = ROUTES.determineRoute(host, request, context);
        request.setURI(URIUtils.rewriteURIForRoute(uri, route, original.getConfig().isNormalizeUri()));
        boolean isNamed = uri.isAbsolute() && uri.getHost() != null;
        context.setTargetHost(isNamed ? new HttpHost(uri.getHost(), uri.getPort(), uri.getScheme()) : host);
        context.setAttribute(HttpClientContext.HTTP_ROUTE, route);
        context.setAttribute(HttpCoreContext.HTTP_REQUEST, request);
        boolean isAuthorized = context.getAttribute(Internals.AUTH_MANAGER) != null;
        if (isAuthorized) {
            Internals.PREEMPTIVE.process(request, context);
        }
        PROCESSOR.process(request, context);
        if (isAuthorized && !authorize(request, context)) {
            return null;
        }
        byte[] bytes = bytes(request);
        if (bytes == null) {
            return null;
        }
        // A response that always allows it shows what the request allows.
        boolean isKept = DefaultClientConnectionReuseStrategy.INSTANCE.keepAlive(KEPT, context);
        boolean isHead = "HEAD".equals(original.getMethod());
        String line = original.getRequestLine().toString();
        HttpContext reuse = isHead ? context : WITH_BODY;
        return new EncodedRequest(inputs, line, request, route, bytes, text(request), cookies, body, isKept, reuse);
    }

    /** Does what MainClientExec does before it sends a request; returns whether that were credentials by Basic. */
    private static boolean authorize(HttpRequestWrapper request, HttpClientContext context)
            throws HttpException, IOException {
        new RequestAuthCache().process(request, context);
        AuthState state = context.getTargetAuthState();
        if (!(state.getAuthScheme() instanceof BasicScheme) || request.containsHeader(HttpHeaders.AUTHORIZATION)) {
            return false;
        }
        AUTHENTICATOR.generateAuthResponse(request, state, context);
        return request.containsHeader(HttpHeaders.AUTHORIZATION);
    }

    /** Returns whether MainClientExec would send a request again after this response, with other credentials. */
    static boolean isAnswered(HttpResponse response, HttpClientContext context) {
        HttpHost target = context.getHttpRoute().getTargetHost();
        TargetAuthenticationStrategy ofTarget = TargetAuthenticationStrategy.INSTANCE;
        AuthState state = context.getTargetAuthState();
        if (AUTHENTICATOR.isAuthenticationRequested(target, response, ofTarget, state, context)) {
            return AUTHENTICATOR.handleAuthChallenge(target, response, ofTarget, state, context);
        }
        ProxyAuthenticationStrategy ofProxy = ProxyAuthenticationStrategy.INSTANCE;
        state = context.getProxyAuthState();
        return AUTHENTICATOR.isAuthenticationRequested(target, response, ofProxy, state, context)
                && AUTHENTICATOR.handleAuthChallenge(target, response, ofProxy, state, context);
    }

    private static byte[] bytes(HttpRequest request) throws IOException, HttpException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(BUFFER);
        SessionOutputBufferImpl buffer = new SessionOutputBufferImpl(new HttpTransportMetricsImpl(), BUFFER);
        buffer.bind(bytes);
        new DefaultHttpRequestWriter(buffer).write(request);
        buffer.flush();
        HttpEntity entity = request instanceof HttpEntityEnclosingRequest enclosing ? enclosing.getEntity() : null;
        if (entity != null) {
            if (entity.isChunked() || entity.getContentLength() < 0) {
                return null;
            }
            entity.writeTo(bytes);
        }
        return bytes.toByteArray();
    }

    private static String text(HttpRequest request) {
        StringBuilder text = new StringBuilder(150);
        for (Header header : request.getAllHeaders()) {
            if (!"Cookie".equalsIgnoreCase(header.getName())) {
                text.append(header.getName()).append(": ").append(header.getValue()).append('\n');
            }
        }
        return text.toString();
    }
}
