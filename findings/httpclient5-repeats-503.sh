#!/usr/bin/env bash
# Question: what does Apache HttpClient 5 return for a POST that is answered with 503 once, and then with 200?
# Guess: 503, at once; only a caller can know whether a POST may be repeated.
# Seen: 200 after one second; the server saw two POSTs. 429 is treated alike, and Retry-After is obeyed. HttpClient 4,
# which JMeter uses, returns the 503.
# Since: seen with 5.5 and 5.6.5. disableAutomaticRetries() of the builder switches it off.
# A user notices: a service that sheds load has no errors and a second "response time" of 1,000 ms, and twice the load.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>client</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.httpcomponents.client5</groupId><artifactId>httpclient5</artifactId><version>5.6.5</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>2.0.16</version></dependency>
</dependencies></project>
XML
mvn -q -B -Dstyle.color=never dependency:copy-dependencies -DoutputDirectory=jars >/dev/null
cat >Busy.java <<'JAVA'
import com.sun.net.httpserver.HttpServer;
import java.net.*;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hc.client5.http.classic.methods.HttpPost;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.core5.http.io.entity.*;
import org.apache.hc.core5.util.VersionInfo;

class Busy {
    public static void main(String[] arguments) throws Exception {
        var seen = new AtomicInteger();
        var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(seen.incrementAndGet() == 1 ? 503 : 200, -1);
            exchange.close();
        });
        server.start();
        var post = new HttpPost("http://127.0.0.1:" + server.getAddress().getPort() + "/pay");
        post.setEntity(new StringEntity("amount=10"));
        long start = System.nanoTime();
        int code = HttpClients.createDefault().execute(post, response -> response.getCode());
        long milliseconds = (System.nanoTime() - start) / 1_000_000;
        var version = VersionInfo.loadVersionInfo("org.apache.hc.client5", Busy.class.getClassLoader()).getRelease();
        System.out.printf("HttpClient %s: code %d after %d ms; the server saw %d POSTs%n", version, code, milliseconds, seen.get());
        System.exit(code == 200 && seen.get() == 2 && milliseconds >= 1000 ? 0 : 1);
    }
}
JAVA
java -cp 'jars/*' Busy.java || { echo "CHANGED: the 503 was returned"; exit 1; }
