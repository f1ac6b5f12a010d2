import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;

/** Serves a unary call and a stream of ten messages on a free port, which it prints; at its input's end also its calls. */
public class GrpcServer {
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

    public static void main(String[] arguments) throws Exception {
        AtomicInteger got = new AtomicInteger();
        MethodDescriptor<byte[], byte[]> buy = MethodDescriptor.<byte[], byte[]>newBuilder(BYTES, BYTES)
            .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName("shop.Shop/Buy").build();
        MethodDescriptor<byte[], byte[]> list = MethodDescriptor.<byte[], byte[]>newBuilder(BYTES, BYTES)
            .setType(MethodDescriptor.MethodType.SERVER_STREAMING).setFullMethodName("shop.Shop/List").build();
        Server server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
            .addService(ServerServiceDefinition.builder("shop.Shop")
                .addMethod(buy, ServerCalls.asyncUnaryCall((request, answer) -> {
                    if (got.incrementAndGet() % 5 == 0) {
                        answer.onError(Status.RESOURCE_EXHAUSTED.withDescription("sold out").asRuntimeException());
                        return;
                    }
                    answer.onNext(request);
                    answer.onCompleted();
                }))
                .addMethod(list, ServerCalls.asyncServerStreamingCall((request, answer) -> {
                    got.incrementAndGet();
                    for (int number = 0; number < 10; number++) {
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
