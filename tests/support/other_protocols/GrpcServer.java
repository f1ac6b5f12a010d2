import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Serves a unary call and a stream of ten messages on a free port, which it prints; at its input's end also its calls.
 * Each unary call number -Drefused.each is refused. -Dmedian.ms is the median time of a unary call, log-normal; each
 * message of a stream takes a tenth of it.
 */
public class GrpcServer {
    private static final int REFUSED_EACH = Integer.getInteger("refused.each", 5);
    private static final int MEDIAN_MS = Integer.getInteger("median.ms", 0);
    static final MethodDescriptor.Marshaller<byte[]> BYTES = new MethodDescriptor.Marshaller<>() {
        @Override public InputStream stream(byte[] value) { return new ByteArrayInputStream(value); }
        @Override public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (java.io.IOException error) {
                throw new IllegalStateException(error);
            }
        }
    };

    private static void work(double medianMs) {
        LockSupport.parkNanos((long) (1e6 * medianMs * Math.exp(0.4 * ThreadLocalRandom.current().nextGaussian())));
    }

    public static void main(String[] arguments) throws Exception {
        AtomicInteger got = new AtomicInteger();
        MethodDescriptor<byte[], byte[]> buy = MethodDescriptor.<byte[], byte[]>newBuilder(BYTES, BYTES)
            .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName("shop.Shop/Buy").build();
        MethodDescriptor<byte[], byte[]> list = MethodDescriptor.<byte[], byte[]>newBuilder(BYTES, BYTES)
            .setType(MethodDescriptor.MethodType.SERVER_STREAMING).setFullMethodName("shop.Shop/List").build();
        Server server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
            .addService(ServerServiceDefinition.builder("shop.Shop")
                .addMethod(buy, ServerCalls.asyncUnaryCall((request, answer) -> {
                    work(MEDIAN_MS);
                    if (got.incrementAndGet() % REFUSED_EACH == 0) {
                        answer.onError(Status.RESOURCE_EXHAUSTED.withDescription("sold out").asRuntimeException());
                        return;
                    }
                    answer.onNext(request);
                    answer.onCompleted();
                }))
                .addMethod(list, ServerCalls.asyncServerStreamingCall((request, answer) -> {
                    got.incrementAndGet();
                    for (int number = 0; number < 10; number++) {
                        work(MEDIAN_MS / 10.0);
                        answer.onNext(request);
                    }
                    answer.onCompleted();
                })).build())
            .build().start();
        System.out.println(server.getPort());
        System.in.read();
        System.out.println(got.get());
        System.exit(0);
    }
}
