package com.acme;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import org.apache.jmeter.config.Arguments;
import org.apache.jmeter.protocol.java.sampler.AbstractJavaSamplerClient;
import org.apache.jmeter.protocol.java.sampler.JavaSamplerContext;
import org.apache.jmeter.samplers.SampleResult;

/** Sends one GET over HTTP/2 with TLS; the message is the version that was used. */
public class Http2Sampler extends AbstractJavaSamplerClient {
    private HttpClient client;

    @Override public Arguments getDefaultParameters() {
        Arguments arguments = new Arguments();
        arguments.addArgument("url", "");
        return arguments;
    }

    @Override public void setupTest(JavaSamplerContext context) {
        TrustManager any = new X509TrustManager() {
            @Override public void checkClientTrusted(X509Certificate[] chain, String type) { }
            @Override public void checkServerTrusted(X509Certificate[] chain, String type) { }
            @Override public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
        };
        try {
            SSLContext tls = SSLContext.getInstance("TLS");
            tls.init(null, new TrustManager[] {any}, null);
            client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).sslContext(tls).build();
        } catch (java.security.GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }

    @Override public SampleResult runTest(JavaSamplerContext context) {
        SampleResult result = new SampleResult();
        result.sampleStart();
        try {
            HttpRequest request = HttpRequest.newBuilder(URI.create(context.getParameter("url"))).build();
            HttpResponse<byte[]> answer = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
            result.setResponseData(answer.body());
            result.setSuccessful(answer.statusCode() == 200 && answer.version() == HttpClient.Version.HTTP_2);
            result.setResponseCode(String.valueOf(answer.statusCode()));
            result.setResponseMessage(answer.version().name());
        } catch (java.io.IOException | InterruptedException error) {
            result.setResponseMessage(String.valueOf(error));
        }
        result.sampleEnd();
        return result;
    }
}
