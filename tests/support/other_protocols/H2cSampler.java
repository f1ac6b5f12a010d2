package com.acme;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hc.client5.http.async.methods.SimpleHttpRequest;
import org.apache.hc.client5.http.async.methods.SimpleHttpResponse;
import org.apache.hc.client5.http.impl.async.CloseableHttpAsyncClient;
import org.apache.hc.client5.http.impl.async.HttpAsyncClients;
import org.apache.hc.core5.io.CloseMode;
import org.apache.jmeter.config.Arguments;
import org.apache.jmeter.protocol.java.sampler.AbstractJavaSamplerClient;
import org.apache.jmeter.protocol.java.sampler.JavaSamplerContext;
import org.apache.jmeter.samplers.SampleResult;

/** Sends one GET over HTTP/2 without TLS, by the HttpClient 5 that JMeter has; each user has a connection of its own. */
public class H2cSampler extends AbstractJavaSamplerClient {
    private CloseableHttpAsyncClient client;

    @Override public Arguments getDefaultParameters() {
        Arguments arguments = new Arguments();
        arguments.addArgument("url", "");
        return arguments;
    }

    @Override public void setupTest(JavaSamplerContext context) {
        client = HttpAsyncClients.createHttp2Default();
        client.start();
    }

    @Override public SampleResult runTest(JavaSamplerContext context) {
        SampleResult result = new SampleResult();
        result.sampleStart();
        try {
            SimpleHttpRequest request = SimpleHttpRequest.create("GET", context.getParameter("url"));
            SimpleHttpResponse answer = client.execute(request, null).get(10, TimeUnit.SECONDS);
            result.setResponseData(answer.getBodyBytes());
            result.setSuccessful(answer.getCode() == 200);
            result.setResponseCode(String.valueOf(answer.getCode()));
        } catch (ExecutionException | InterruptedException | TimeoutException error) {
            result.setResponseMessage(String.valueOf(error));
        }
        result.sampleEnd();
        return result;
    }

    @Override public void teardownTest(JavaSamplerContext context) {
        client.close(CloseMode.IMMEDIATE);
    }
}
