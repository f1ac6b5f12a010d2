#!/usr/bin/env bash
# Question: 60 requests at once over one HTTP/2 connection to Tomcat, which has 200 threads; each takes 0.5 s. How long do
# all take? And 150 at once?
# Guess: 0.5 s; HTTP/2 sends all at once.
# Seen: 1.5 s: Tomcat runs 20 requests of a connection at once (maxConcurrentStreamExecution) and lets the others wait. Of
# 150 the JDK's client refuses 50 itself, "too many concurrent streams": Tomcat admits 100 per connection.
# Since: seen with 9.0.117, 10.1.59 and 11.0.14.
# A user notices: the same load is slower by HTTP/2 than by HTTP/1.1, with idle threads in the server; users who share a
# connection, as those of a load generator or behind a proxy may, wait for each other.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/support/tomcat.bash"
seen=$(
    in_each_tomcat Streams 9.0.117 10.1.59 11.0.14 <<'JAVA'
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.catalina.connector.Connector;
import org.apache.coyote.http2.Http2Protocol;

class Streams {
    static final AtomicInteger now = new AtomicInteger(), most = new AtomicInteger();

    public static void main(String[] arguments) throws Exception {
        var tomcat = Server.start(new HttpServlet() {
            @Override protected void service(HttpServletRequest request, HttpServletResponse response) {
                most.accumulateAndGet(now.incrementAndGet(), Math::max);
                try { Thread.sleep(500); } catch (InterruptedException e) { }
                now.decrementAndGet();
            }
        });
        var second = new Connector();
        second.setPort(0);
        second.setProperty("address", "127.0.0.1");
        second.addUpgradeProtocol(new Http2Protocol());
        tomcat.getService().addConnector(second);
        var client = HttpClient.newHttpClient();
        var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + second.getLocalPort())).build();
        client.send(request, HttpResponse.BodyHandlers.discarding());
        for (int count : new int[] {60, 150}) {
            long began = System.nanoTime();
            most.set(0);
            var all = new ArrayList<CompletableFuture<HttpResponse<Void>>>();
            for (int i = 0; i < count; i++) all.add(client.sendAsync(request, HttpResponse.BodyHandlers.discarding()));
            int good = 0;
            for (var one : all) {
                try { if (one.get().version() == HttpClient.Version.HTTP_2) good++; } catch (ExecutionException e) { }
            }
            System.out.print(count + ": " + good + " good, " + most + " at once, "
                + (System.nanoTime() - began) / 500_000_000 + " halves of a second; ");
        }
        System.out.println();
        System.exit(0);
    }
}
JAVA
)
echo "$seen"
python3 - "$seen" <<'PY'
import re
import sys

for line in sys.argv[1].splitlines():
    few, many = (tuple(map(int, one)) for one in re.findall(r"(\d+) good, (\d+) at once, (\d+) halves", line))
    if few[:2] != (60, 20) or few[2] < 3 or many[:2] != (100, 20):
        raise SystemExit(f"CHANGED: not 20 at once, and 100 of 150: {line}")
PY
