import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandle;

/** Counts the requests that HttpClient repeated after a failed connection, by label: no row has the failure. */
public final class Repeats {
    private static final String HANDLER = "org/apache/http/client/HttpRequestRetryHandler";
    private static final String CONTEXT = "org/apache/http/protocol/HttpContext";
    private static final String OBJECT = "Ljava/lang/Object;";

    private Repeats() {}

    /** Patches where HttpClient asks whether it shall repeat a request. */
    static void install(Instrumentation instrumentation) {
        String asks = HANDLER + " retryRequest (Ljava/io/IOException;IL" + CONTEXT + ";)Z";
        new CallPatch("execute", asks, "Repeats", "isRepeated", "(" + OBJECT + "Ljava/io/IOException;I" + OBJECT + ")Z")
                .install(
                        instrumentation,
                        "org/apache/http/impl/execchain/RetryExec",
                        "repeated requests are not counted: this JMeter cannot be patched: " + asks);
    }

    /** Called instead of HttpRequestRetryHandler.retryRequest. */
    public static boolean isRepeated(Object handler, IOException error, int count, Object context) {
        try {
            boolean isRepeated = (boolean) Access.ASK.invoke(handler, error, count, context);
            GroupCounts.Group group = isRepeated && !WarmUp.isOn() ? Users.group() : null;
            if (group != null) {
                group.count("repeated", (String) Access.NAME.invoke(Access.SAMPLER.invoke(Access.CURRENT.invoke())));
            }
            return isRepeated;
        } catch (RuntimeException | Error failure) {
            throw failure;
        } catch (Throwable failure) {
            throw new IllegalStateException(failure);
        }
    }

    /** As constants of a class they are compiled like direct accesses. */
    private static final class Access {
        private static final String THREADS = "org.apache.jmeter.threads.JMeterContext";
        static final MethodHandle ASK = retry();
        static final MethodHandle CURRENT = Handles.of(THREADS + "Service", "getContext");
        static final MethodHandle SAMPLER = Handles.of(THREADS, "getCurrentSampler");
        static final MethodHandle NAME = Handles.of("org.apache.jmeter.testelement.TestElement", "getName");

        private static MethodHandle retry() {
            try {
                return Handles.of(HANDLER, "retryRequest", IOException.class, int.class, Handles.type(CONTEXT));
            } catch (ClassNotFoundException error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
