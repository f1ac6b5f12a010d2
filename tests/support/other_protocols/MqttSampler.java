package com.acme;

import org.apache.jmeter.config.Arguments;
import org.apache.jmeter.protocol.java.sampler.AbstractJavaSamplerClient;
import org.apache.jmeter.protocol.java.sampler.JavaSamplerContext;
import org.apache.jmeter.samplers.SampleResult;
import org.eclipse.paho.client.mqttv3.MqttClient;
import org.eclipse.paho.client.mqttv3.MqttException;
import org.eclipse.paho.client.mqttv3.persist.MemoryPersistence;

/** Publishes one message of a `qos` of 1 or 2, until it is acknowledged, after `wait_ms`; each user has a connection of its own. */
public class MqttSampler extends AbstractJavaSamplerClient {
    private MqttClient client;

    @Override public Arguments getDefaultParameters() {
        Arguments arguments = new Arguments();
        arguments.addArgument("url", "");
        arguments.addArgument("wait_ms", "0");
        arguments.addArgument("qos", "1");
        return arguments;
    }

    @Override public SampleResult runTest(JavaSamplerContext context) {
        SampleResult result = new SampleResult();
        try {
            Thread.sleep(context.getLongParameter("wait_ms", 0));
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        result.sampleStart();
        try {
            if (client == null) {
                client = new MqttClient(context.getParameter("url"), MqttClient.generateClientId(), new MemoryPersistence());
                client.connect();
            }
            client.publish("sale", new byte[] {1, 2, 3}, context.getIntParameter("qos", 1), false);
            result.setSuccessful(true);
            result.setResponseCode("OK");
        } catch (MqttException error) {
            result.setResponseCode(String.valueOf(error.getReasonCode()));
            result.setResponseMessage(String.valueOf(error));
        }
        result.sampleEnd();
        return result;
    }

    @Override public void teardownTest(JavaSamplerContext context) {
        try {
            if (client != null) {
                client.disconnect();
                client.close();
            }
        } catch (MqttException error) {
            getNewLogger().warn("not disconnected", error);
        }
    }
}
