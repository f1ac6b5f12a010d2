import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;
import java.net.URL;

/**
 * Counts the samples of each label that redirects lead to another page, by that page.
 *
 * JMeter follows them itself, or lets HttpClient do so; or it does not, and the redirect is the answer, a success. A page is
 * another one when its path is, without a slash at its end: a redirect to https or to another host is the same page.
 */
public final class Redirects {
    private static final String HTTP = "org/apache/jmeter/protocol/http/sampler/";
    private static final String RESULT = HTTP + "HTTPSampleResult";
    private static final String OBJECT = "Ljava/lang/Object;";
    /** Of the sample that a thread is doing, what was asked for. */
    private static final ThreadLocal<Asked> ASKED = new ThreadLocal<>();
    private static final ClassValue<Boolean> IS_HTTP = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            return type.getName().equals(RESULT.replace('/', '.'));
        }
    };
    /** Something was redirected. */
    private static volatile boolean isOn;

    private Redirects() {}

    /** What a sample asked for, and its own result or, where JMeter follows, the first part of it. */
    private record Asked(Object result, URL url) {}

    /** Patches where a redirect is followed, and where a sample is done. */
    static void install(Instrumentation instrumentation) {
        String consequence = "redirects are not counted: this JMeter cannot be patched: ";
        new MethodPatch("followRedirects", "L" + RESULT + ";", true, "Redirects", "follows", OBJECT)
                .install(instrumentation, HTTP + "HTTPSamplerBase", consequence + "followRedirects");
        String moved = RESULT + " setURL (Ljava/net/URL;)V";
        new CallPatch("sample", moved, "Redirects", "moved", "(" + OBJECT + "Ljava/net/URL;)V")
                .install(instrumentation, HTTP + "HTTPHC4Impl", consequence + moved);
        new MethodPatch("setPreviousResult", "Lorg/apache/jmeter/samplers/SampleResult;", false, "Redirects", "sampled", OBJECT)
                .install(instrumentation, "org/apache/jmeter/threads/JMeterContext", consequence + "setPreviousResult");
    }

    /** Called before JMeter follows the redirects of a result; `depth` is above 0 for an embedded resource. */
    public static void follows(Object result, int depth) {
        if (depth == 0) {
            note(result);
        }
    }

    /** Called instead of HTTPSampleResult.setURL, with the page to which HttpClient was redirected. */
    public static void moved(Object result, URL url) {
        note(result);
        try {
            Access.MOVE.invoke(result, url);
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
    }

    private static void note(Object result) {
        try {
            ASKED.set(new Asked(result, (URL) Access.URL.invoke(result)));
            isOn = true;
        } catch (Throwable error) {
            // JMeter's thread goes on.
        }
    }

    /** Called with each result of a sampler. */
    public static void sampled(Object result) {
        Asked asked = isOn ? ASKED.get() : null;
        if (result == null) {
            return;
        }
        if (asked == null) {
            answered(result);
            return;
        }
        ASKED.remove();
        GroupCounts.Group group = WarmUp.isOn() ? null : Users.group();
        try {
            if (group != null && isOf(result, asked.result) && (boolean) Access.IS_SUCCESSFUL.invoke(result)) {
                URL end = (URL) Access.URL.invoke(result);
                if (!page(end).equals(page(asked.url))) {
                    group.redirects((String) Access.LABEL.invoke(result), page(asked.url), page(end));
                }
            }
        } catch (Throwable error) {
            // JMeter's thread goes on.
        }
    }

    /** Counts an answer that is a redirect which nobody follows. */
    private static void answered(Object result) {
        try {
            if (!IS_HTTP.get(result.getClass()) || !((String) Access.CODE.invoke(result)).startsWith("3")) {
                return;
            }
            String location = (String) Access.LOCATION.invoke(result);
            GroupCounts.Group group = location == null || WarmUp.isOn() ? null : Users.group();
            if (group != null && (boolean) Access.IS_SUCCESSFUL.invoke(result)) {
                URL asked = (URL) Access.URL.invoke(result);
                String page = page(new URL(asked, location));
                if (!page.equals(page(asked))) {
                    group.redirects((String) Access.LABEL.invoke(result), page(asked), page);
                }
            }
        } catch (Throwable error) {
            // JMeter's thread goes on.
        }
    }

    /** Returns whether a redirect was one of this sample: an earlier one may have had no result. */
    private static boolean isOf(Object result, Object first) throws Throwable {
        if (result == first) {
            return true;
        }
        Object[] parts = (Object[]) Access.PARTS.invoke(result);
        return parts.length > 0 && parts[0] == first;
    }

    private static String page(URL url) {
        String path = url.getPath().replaceFirst(";.*", ""); // jsessionid
        return path.length() > 1 && path.endsWith("/") ? path.substring(0, path.length() - 1) : path.isEmpty() ? "/" : path;
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        static final MethodHandle URL = Handles.of(RESULT, "getURL");
        static final MethodHandle MOVE = Handles.of(RESULT, "setURL", URL.class);
        static final MethodHandle LOCATION = Handles.of(RESULT, "getRedirectLocation");
        static final MethodHandle CODE = Handles.of(RESULT, "getResponseCode");
        static final MethodHandle LABEL = Handles.of(RESULT, "getSampleLabel");
        static final MethodHandle PARTS = Handles.of(RESULT, "getSubResults");
        static final MethodHandle IS_SUCCESSFUL = Handles.of(RESULT, "isSuccessful");
    }
}
