import io.undertow.Undertow;
import io.undertow.server.handlers.proxy.LoadBalancingProxyClient;
import io.undertow.server.handlers.proxy.ProxyHandler;
import java.net.URI;
import java.util.Arrays;
import org.xnio.Options;

/**
 * A load balancer on the JVM: Undertow's proxy, round robin, with persistent connections to the back-ends.
 *
 * <p>Arguments: I/O threads (0: one per core), connections per thread and back-end, its port, the back-ends' ports.
 */
public final class JvmBalancer {
    private static final int BACKLOG = 16_384;
    /** A request waits for a connection instead of being refused: its user has no other one to send. */
    private static final int QUEUE = 1_000_000;

    public static void main(String[] arguments) {
        int[] numbers = Arrays.stream(arguments).mapToInt(Integer::parseInt).toArray();
        LoadBalancingProxyClient client = new LoadBalancingProxyClient()
                .setConnectionsPerThread(numbers[1])
                .setMaxQueueSize(QUEUE);
        for (int port : Arrays.copyOfRange(numbers, 3, numbers.length)) {
            client.addHost(URI.create("http://127.0.0.1:" + port));
        }
        Undertow.builder()
                .addHttpListener(numbers[2], "127.0.0.1")
                .setIoThreads(numbers[0] > 0 ? numbers[0] : Runtime.getRuntime().availableProcessors())
                .setWorkerThreads(1)
                .setSocketOption(Options.BACKLOG, BACKLOG)
                .setHandler(ProxyHandler.builder().setProxyClient(client).build())
                .build()
                .start();
    }
}
