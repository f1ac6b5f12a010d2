package harness.sampler;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.util.concurrent.BlockingDeque;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.zip.Inflater;
import org.apache.http.client.entity.InputStreamFactory;
import org.apache.http.client.protocol.ResponseContentEncoding;
import org.apache.http.config.Lookup;
import org.apache.jmeter.protocol.http.sampler.HTTPHC4Impl;
import org.apache.jmeter.protocol.http.sampler.hc.LaxGZIPInputStream;

/**
 * Unpacks gzip as JMeter does, with an inflater that another response had before.
 *
 * Each inflater has 32 KB outside the heap for what it has unpacked. Memory of that size is given back to the system at once
 * (MALLOC_MMAP_THRESHOLD_ of the run), and to ask for it again took 10 to 40 µs for each response.
 */
final class Unzip extends LaxGZIPInputStream {
    private static final int MOST_KEPT = 32;
    private static final BlockingDeque<Inflater> KEPT = new LinkedBlockingDeque<>(MOST_KEPT);

    /** The inflater of Java's stream, which has taken next to nothing yet. */
    private final Inflater unused = inf;

    private Unzip(InputStream packed, boolean isLax) throws IOException {
        super(packed, isLax);
        Inflater kept = KEPT.pollFirst();
        inf = kept == null ? new Inflater(true) : kept;
    }

    /** Lets both samplers unpack this way, which have JMeter's own for all codings; without it nothing else changes. */
    static void use() {
        try {
            Object unpack = field(HTTPHC4Impl.class, "RESPONSE_CONTENT_ENCODING").get(null);
            Field ways = field(ResponseContentEncoding.class, "decoderRegistry");
            boolean isLax = field(HTTPHC4Impl.class, "GZIP_RELAX_MODE").getBoolean(null);
            ways.set(unpack, instead((Lookup<?>) ways.get(unpack), isLax));
        } catch (ReflectiveOperationException | RuntimeException error) {
            // Another JMeter: responses are unpacked as it does.
        }
    }

    private static Lookup<InputStreamFactory> instead(Lookup<?> ways, boolean isLax) {
        Object gzip = ways.lookup("gzip");
        return name -> {
            Object way = ways.lookup(name);
            return way == gzip ? packed -> new Unzip(packed, isLax) : (InputStreamFactory) way;
        };
    }

    private static Field field(Class<?> owner, String name) throws ReflectiveOperationException {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    @Override
    public void close() throws IOException {
        Inflater used = inf;
        if (used != unused) {
            inf = unused;
            used.reset();
            if (!KEPT.offerFirst(used)) {
                used.end();
            }
        }
        super.close();
    }
}
