package harness.sampler;

import java.io.IOException;
import java.io.InputStream;
import java.util.function.IntPredicate;
import org.apache.http.Header;
import org.apache.http.HttpResponse;
import org.apache.http.message.BufferedHeader;
import org.apache.http.util.CharArrayBuffer;
import org.apache.jmeter.protocol.http.sampler.HTTPSampleResult;

/** Writes a response into JMeter's result, as HTTPHC4Impl.sample (5.6.3) does. */
final class Results {
    private Results() {}

    /** Sets the type and the encoding of the body. */
    static void setType(HTTPSampleResult result, HttpResponse response) {
        Header type = response.getLastHeader("Content-Type");
        if (type != null) {
            result.setContentType(type.getValue());
            result.setEncodingAndType(type.getValue());
        }
    }

    /** Returns a body of known length, as HTTPSamplerBase.readResponse does, in an array of that length. */
    static byte[] small(HTTPSampleResult result, InputStream in, int length) throws IOException {
        try (in) {
            byte[] body = new byte[length];
            int filled = 0;
            for (int count; (count = in.read(body, filled, length - filled)) > 0; filled += count) {
                if (filled == 0) {
                    result.latencyEnd();
                }
            }
            in.read(); // its end: the connection is free
            return body;
        }
    }

    /** Sets what the response says, except type and body, and the sizes. IllegalArgumentException without a location. */
    static void fill(
            HTTPSampleResult result,
            HttpResponse response,
            EncodedRequest request,
            long receivedBytes,
            IntPredicate isSuccess) {
        int code = response.getStatusLine().getStatusCode();
        result.setResponseCode(Integer.toString(code));
        result.setResponseMessage(response.getStatusLine().getReasonPhrase());
        result.setSuccessful(isSuccess.test(code));
        Header[] headers = response.getAllHeaders();
        String text = text(response, headers);
        result.setResponseHeaders(text);
        if (result.isRedirect()) {
            Header location = response.getLastHeader("Location");
            if (location == null) {
                throw new IllegalArgumentException(
                        "Missing location header in redirect for " + request.line());
            }
            result.setRedirectLocation(location.getValue());
        }
        // As JMeter counts: the carriage returns that its text does not have, and the empty line.
        long headerBytes = (long) text.length() + headers.length + 1L + 2L;
        result.setHeadersSize((int) headerBytes);
        result.setBodySize(receivedBytes - headerBytes);
        result.setSentBytes(request.bytes().length);
    }

    private static String text(HttpResponse response, Header[] headers) {
        StringBuilder text = new StringBuilder(40 * (headers.length + 1));
        text.append(response.getStatusLine()).append('\n');
        for (Header header : headers) {
            if (header instanceof BufferedHeader buffered) {
                CharArrayBuffer line = buffered.getBuffer();
                text.append(line.buffer(), 0, line.length()).append('\n');
            } else {
                text.append(header.getName()).append(": ").append(header.getValue()).append('\n');
            }
        }
        return text.toString();
    }
}
