#!/usr/bin/env bash
# Question: how often does a server see one POST, if it reads it and closes the connection without an answer?
# Guess: once with every client; POST is not idempotent, so the caller gets an error.
# Seen: six times with AsyncHttpClient, twice with HttpURLConnection, three times with OkHttp on a kept connection; once with
# Apache HttpClient 4 (JMeter's), HttpClient 5, the JDK's HttpClient and Jetty's. The caller sees one error in all.
# Since: seen with AsyncHttpClient 3.0.1, OkHttp 5.5.1 (4.12.0: twice), Java 17 and 25.
# A user notices: more orders in the database than samples in the results, and an overloaded server gets more load.
# JMeter's HTTP Request with the implementation "Java" is HttpURLConnection.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>clients</artifactId><version>1</version><dependencies>
<dependency><groupId>org.asynchttpclient</groupId><artifactId>async-http-client</artifactId><version>3.0.1</version></dependency>
<dependency><groupId>com.squareup.okhttp3</groupId><artifactId>okhttp-jvm</artifactId><version>5.5.1</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>2.0.16</version></dependency>
</dependencies></project>
XML
mvn -q -B -Dstyle.color=never dependency:copy-dependencies -DoutputDirectory=jars >/dev/null
cat >Posts.java <<'JAVA'
import java.io.InputStream;
import java.net.*;
import java.net.http.*;
import java.util.concurrent.atomic.AtomicInteger;

class Posts {
    interface Client { void post(String url) throws Exception; }
    static final AtomicInteger seen = new AtomicInteger();

    /** Answer /warm, and close the connection after any other request. */
    static void serve(Socket socket) {
        try (socket) {
            InputStream in = socket.getInputStream();
            while (true) {
                var head = new StringBuilder();
                while (head.indexOf("\r\n\r\n") < 0) {
                    int next = in.read();
                    if (next < 0) return;
                    head.append((char) next);
                }
                in.readNBytes(3);
                if (head.indexOf("/warm") < 0) { seen.incrementAndGet(); return; }
                socket.getOutputStream().write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".getBytes());
            }
        } catch (Exception e) { /* the client closed it */ }
    }

    static int count(Client client) throws Exception {
        seen.set(0);
        var server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        var thread = new Thread(() -> {
            try { while (true) { var socket = server.accept(); new Thread(() -> serve(socket)).start(); } }
            catch (Exception e) { /* closed */ }
        });
        thread.start();
        String url = "http://127.0.0.1:" + server.getLocalPort();
        client.post(url + "/warm");
        try { client.post(url + "/pay"); throw new IllegalStateException("no error"); }
        catch (java.io.IOException | java.util.concurrent.ExecutionException e) { /* one error, as expected */ }
        server.close();
        return seen.get();
    }

    public static void main(String[] arguments) throws Exception {
        var async = org.asynchttpclient.Dsl.asyncHttpClient();
        var ok = new okhttp3.OkHttpClient();
        var jdk = HttpClient.newHttpClient();
        int ahc = count(url -> async.preparePost(url).setBody("x=1").execute().get());
        int okHttp = count(url -> { try (var r = ok.newCall(new okhttp3.Request.Builder().url(url)
            .post(okhttp3.RequestBody.create("x=1", null)).build()).execute()) { r.body().string(); } });
        int urlConnection = count(url -> {
            var connection = (HttpURLConnection) new URL(url).openConnection();
            connection.setDoOutput(true);
            connection.getOutputStream().write("x=1".getBytes());
            connection.getInputStream().readAllBytes();
        });
        int modern = count(url -> jdk.send(HttpRequest.newBuilder(URI.create(url))
            .POST(HttpRequest.BodyPublishers.ofString("x=1")).build(), HttpResponse.BodyHandlers.ofString()));
        System.out.printf("Java %s; one POST is seen by the server: AsyncHttpClient 3.0.1 %d, OkHttp 5.5.1 %d, HttpURLConnection %d, JDK HttpClient %d%n",
            System.getProperty("java.version"), ahc, okHttp, urlConnection, modern);
        System.exit(ahc == 6 && okHttp == 3 && urlConnection == 2 && modern == 1 ? 0 : 1);
    }
}
JAVA
java -cp 'jars/*' Posts.java || { echo "CHANGED: not 6, 3, 2, 1"; exit 1; }
