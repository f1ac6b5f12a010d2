package com.acme;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import org.apache.jmeter.config.Arguments;
import org.apache.jmeter.protocol.java.sampler.AbstractJavaSamplerClient;
import org.apache.jmeter.protocol.java.sampler.JavaSamplerContext;
import org.apache.jmeter.samplers.SampleResult;

/** Sends a unary call, or reads a stream; the first message is the first byte. The code is that of gRPC. */
public class GrpcSampler extends AbstractJavaSamplerClient {
    private static final MethodDescriptor.Marshaller<byte[]> BYTES = new MethodDescriptor.Marshaller<>() {
        @Override public InputStream stream(byte[] value) { return new ByteArrayInputStream(value); }
        @Override public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }
    };
    private static final MethodDescriptor<byte[], byte[]> BUY = MethodDescriptor.<byte[], byte[]>newBuilder(BYTES, BYTES)
        .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName("shop.Shop/Buy").build();
    private static final MethodDescriptor<byte[], byte[]> LIST = MethodDescriptor.<byte[], byte[]>newBuilder(BYTES, BYTES)
        .setType(MethodDescriptor.MethodType.SERVER_STREAMING).setFullMethodName("shop.Shop/List").build();
    private static final byte[] ASKED = new byte[100];
    private ManagedChannel channel;

    @Override public Arguments getDefaultParameters() {
        Arguments arguments = new Arguments();
        arguments.addArgument("host", "");
        arguments.addArgument("port", "");
        arguments.addArgument("stream", "false");
        return arguments;
    }

    @Override public SampleResult runTest(JavaSamplerContext context) {
        if (channel == null) {
            channel = NettyChannelBuilder.forAddress(context.getParameter("host"), context.getIntParameter("port"))
                .usePlaintext().build();
        }
        SampleResult result = new SampleResult();
        result.sampleStart();
        try {
            boolean isStream = Boolean.parseBoolean(context.getParameter("stream"));
            result.setResponseData(isStream ? stream(result) : message(result));
            result.setSuccessful(true);
            result.setResponseCode("OK");
        } catch (StatusRuntimeException error) {
            result.setResponseCode(error.getStatus().getCode().name());
            result.setResponseMessage(error.getStatus().getDescription());
        }
        result.sampleEnd();
        return result;
    }

    private byte[] message(SampleResult result) {
        byte[] message = ClientCalls.blockingUnaryCall(channel, BUY, CallOptions.DEFAULT, ASKED);
        result.latencyEnd();
        return message;
    }

    /** Return the messages of a stream one after the other. */
    private byte[] stream(SampleResult result) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        ClientCalls.blockingServerStreamingCall(channel, LIST, CallOptions.DEFAULT, ASKED).forEachRemaining(message -> {
            if (all.size() == 0) {
                result.latencyEnd();
            }
            all.writeBytes(message);
        });
        return all.toByteArray();
    }

    @Override public void teardownTest(JavaSamplerContext context) {
        if (channel != null) {
            channel.shutdownNow();
        }
    }
}
