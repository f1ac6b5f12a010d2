#!/usr/bin/env bash
# Question: does HttpRequest.timeout(2 s) of the JDK's HTTP client end a request whose body takes 5 s?
# Guess: yes, with HttpTimeoutException after 2 s.
# Seen: no. The timeout ends when the headers are there; 200 and the whole body are returned after 5 s.
# Since: seen with Java 17 and 25.
# A user notices: a load generator on this client has response times far above its timeout and counts them as good.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >Drip.java <<'JAVA'
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

class Drip {
    static void serve(ServerSocket server) {
        try (var socket = server.accept()) {
            socket.getInputStream().read(new byte[4096]);
            var out = socket.getOutputStream();
            out.write("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n".getBytes());
            for (int i = 0; i < 12; i++) {
                Thread.sleep(420);
                out.write('x');
            }
        } catch (Exception e) {
            System.out.println("server: " + e);
        }
    }

    public static void main(String[] arguments) throws Exception {
        var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        var thread = new Thread(() -> serve(server));
        thread.setDaemon(true);
        thread.start();
        var uri = URI.create("http://127.0.0.1:" + server.getLocalPort() + "/");
        var request = HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(2)).build();
        long start = System.nanoTime();
        int length = HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body().length();
        long milliseconds = (System.nanoTime() - start) / 1_000_000;
        System.out.printf("Java %s: timeout 2000 ms, %d bytes after %d ms%n", System.getProperty("java.version"), length, milliseconds);
        System.exit(length == 12 && milliseconds > 4000 ? 0 : 1);
    }
}
JAVA
java Drip.java || { echo "CHANGED: the timeout ended the body"; exit 1; }
