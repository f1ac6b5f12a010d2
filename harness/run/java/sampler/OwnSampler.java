package harness.sampler;

import java.net.URL;
import org.apache.jmeter.protocol.http.control.HeaderManager;
import org.apache.jmeter.protocol.http.sampler.HTTPAbstractImpl;
import org.apache.jmeter.protocol.http.sampler.HTTPHC4Impl;
import org.apache.jmeter.protocol.http.sampler.HTTPJavaImpl;
import org.apache.jmeter.protocol.http.sampler.HTTPSampleResult;
import org.apache.jmeter.protocol.http.sampler.HTTPSamplerBase;
import org.apache.jmeter.protocol.http.sampler.HTTPSamplerFactory;

/** JMeter's own HTTP sampler, except that {@link Origin} keeps credentials. */
public class OwnSampler extends HTTPHC4Impl {
    static {
        Unzip.use();
    }

    private boolean isForeign;

    protected OwnSampler(HTTPSamplerBase element) {
        super(element);
    }

    /** Returns the sampler for an HTTPSamplerProxy; null for one that JMeter must create. */
    public static Object create(Object proxy, boolean isLean) {
        HTTPSamplerBase element = (HTTPSamplerBase) proxy;
        try {
            HTTPAbstractImpl own = HTTPSamplerFactory.getImplementation(element.getImplementation(), element);
            if (own.getClass() == HTTPHC4Impl.class) {
                return isLean ? new LeanSampler(element) : new OwnSampler(element);
            }
            return own.getClass() == HTTPJavaImpl.class ? new OfJava(element) : null;
        } catch (IllegalArgumentException error) { // JMeter reports it with each sample
            return null;
        }
    }

    @Override
    protected HTTPSampleResult sample(URL url, String method, boolean isRedirect, int depth) {
        begin(url, isRedirect, depth);
        return super.sample(url, method, isRedirect, depth);
    }

    /** Notes whether the request that is sent next goes to another origin. */
    protected final void begin(URL url, boolean isRedirect, int depth) {
        isForeign = Origin.isForeign(testElement, url, isRedirect, depth);
    }

    @Override
    protected final HeaderManager getHeaderManager() {
        HeaderManager headers = super.getHeaderManager();
        return isForeign ? Origin.without(headers) : headers;
    }

    /** The same for Java's own client. */
    private static final class OfJava extends HTTPJavaImpl {
        private boolean isForeign;

        OfJava(HTTPSamplerBase element) {
            super(element);
        }

        @Override
        protected HTTPSampleResult sample(URL url, String method, boolean isRedirect, int depth) {
            isForeign = Origin.isForeign(testElement, url, isRedirect, depth);
            return super.sample(url, method, isRedirect, depth);
        }

        @Override
        protected HeaderManager getHeaderManager() {
            HeaderManager headers = super.getHeaderManager();
            return isForeign ? Origin.without(headers) : headers;
        }
    }
}
