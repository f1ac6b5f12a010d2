package com.acme;

import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.jmeter.config.Arguments;
import org.apache.jmeter.protocol.java.sampler.AbstractJavaSamplerClient;
import org.apache.jmeter.protocol.java.sampler.JavaSamplerContext;
import org.apache.jmeter.samplers.SampleResult;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Sends one message, and waits until all replicas have it; each user has a producer of its own. */
public class KafkaSampler extends AbstractJavaSamplerClient {
    private KafkaProducer<byte[], byte[]> producer;

    @Override public Arguments getDefaultParameters() {
        Arguments arguments = new Arguments();
        arguments.addArgument("broker", "");
        return arguments;
    }

    @Override public void setupTest(JavaSamplerContext context) {
        producer = new KafkaProducer<>(
            Map.of("bootstrap.servers", context.getParameter("broker"), "acks", "all", "linger.ms", 0, "max.block.ms", 5_000),
            new ByteArraySerializer(), new ByteArraySerializer());
    }

    @Override public SampleResult runTest(JavaSamplerContext context) {
        SampleResult result = new SampleResult();
        result.sampleStart();
        try {
            producer.send(new ProducerRecord<>("sale", new byte[] {1, 2, 3})).get();
            result.setSuccessful(true);
            result.setResponseCode("OK");
        } catch (ExecutionException | InterruptedException error) {
            result.setResponseMessage(String.valueOf(error));
        }
        result.sampleEnd();
        return result;
    }

    @Override public void teardownTest(JavaSamplerContext context) {
        producer.close();
    }
}
