package harness.sampler;

import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.http.HttpHost;
import org.apache.http.client.methods.HttpRequestWrapper;
import org.apache.http.client.methods.HttpUriRequest;
import org.apache.http.client.utils.URIUtils;
import org.apache.http.impl.conn.DefaultSchemePortResolver;
import org.apache.jmeter.protocol.http.control.Header;
import org.apache.jmeter.protocol.http.control.HeaderManager;
import org.apache.jmeter.protocol.http.sampler.HTTPSamplerBase;
import org.apache.jmeter.testelement.property.JMeterProperty;

/**
 * Keeps credentials at their origin: redirects and embedded resources of another scheme, host or port do not get them.
 *
 * The origin is that of the sampler's own request, as with curl: a redirect back to it has the credentials again.
 * They are the headers of {@link #STANDARD}, and those of {@code -Dharness.secret_headers=NAME,…}. JMeter's managers of
 * cookies and authorizations have rules of their own.
 */
public final class Origin {
    private static final Set<String> STANDARD = Set.of("authorization", "proxy-authorization", "cookie", "cookie2");
    private static final String SECRET_HEADERS = "harness.secret_headers";
    private static final String ACROSS = "harness.credentials_across";
    /** Of the request that HttpClient, which follows redirects itself, was given. */
    private static final ThreadLocal<HttpHost> FIRST = new ThreadLocal<>();

    private Origin() {}

    /** Returns whether a request of this sampler must not have its credentials. */
    static boolean isForeign(HTTPSamplerBase sampler, URL url, boolean isRedirect, int depth) {
        if (!isRedirect && depth == 0 || !isKept()) {
            return false;
        }
        try {
            URL own = sampler.getUrl();
            return !own.getProtocol().equalsIgnoreCase(url.getProtocol())
                    || !own.getHost().equalsIgnoreCase(url.getHost())
                    || port(own) != port(url);
        } catch (MalformedURLException error) {
            return true;
        }
    }

    private static int port(URL url) {
        return url.getPort() < 0 ? url.getDefaultPort() : url.getPort();
    }

    /** Returns the headers without credentials. */
    static HeaderManager without(HeaderManager headers) {
        if (headers == null) {
            return null;
        }
        HeaderManager rest = new HeaderManager();
        for (JMeterProperty property : headers.getHeaders()) {
            Header header = (Header) property.getObjectValue();
            if (!isSecret(header.getName())) {
                rest.add(new Header(header.getName(), header.getValue()));
            }
        }
        return rest;
    }

    private static boolean isSecret(String name) {
        if (name == null) {
            return false;
        }
        String plain = name.strip().toLowerCase(Locale.ROOT);
        return STANDARD.contains(plain) || List.of(setting(SECRET_HEADERS).toLowerCase(Locale.ROOT).split(",")).contains(plain);
    }

    private static boolean isKept() {
        return !Boolean.parseBoolean(setting(ACROSS));
    }

    private static String setting(String name) {
        return System.getProperty(name, "");
    }

    /** Called before HttpClient sends a request and follows its redirects. */
    public static void begin(Object request) {
        FIRST.set(host(request));
    }

    /** Called before HttpClient sends each of them; their headers are copies of those of the first one. */
    public static void hop(Object request) {
        HttpHost first = FIRST.get();
        if (first != null && request instanceof HttpRequestWrapper copy && !first.equals(host(request)) && isKept()) {
            for (org.apache.http.Header header : copy.getAllHeaders()) {
                if (isSecret(header.getName())) {
                    copy.removeHeader(header);
                }
            }
        }
    }

    private static HttpHost host(Object request) {
        if (request instanceof HttpRequestWrapper copy && copy.getOriginal() instanceof HttpUriRequest given) {
            URI uri = given.getURI();
            HttpHost host = uri == null ? null : URIUtils.extractHost(uri);
            if (host != null) {
                try {
                    int port = DefaultSchemePortResolver.INSTANCE.resolve(host);
                    return new HttpHost(host.getHostName(), port, host.getSchemeName());
                } catch (org.apache.http.conn.UnsupportedSchemeException error) {
                    return host;
                }
            }
        }
        return null;
    }
}
