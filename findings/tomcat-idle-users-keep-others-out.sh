#!/usr/bin/env bash
# Question: Tomcat has maxConnections=5, and five users keep their connections and send a request each second, which takes
# 1 ms. A sixth user sends a request. How long does it take?
# Guess: some ms, or it is refused; no thread is busy, and an idle kept connection gives way.
# Seen: until one of the five leaves, 6 s here. The sixth is connected at once, by the operating system; Tomcat does not
# accept it, and a connection that is kept counts although it is idle. Tomcat's access log says 0 s for its request.
# Since: seen with 10.1.59.
# A user notices: response times of the think time's or the keep-alive's length, which the server does not know of, with
# more users than maxConnections (8,192 unless set).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/tomcat.bash"
tomcat_jars 10.1.59
cat >Few.java <<'JAVA'
import jakarta.servlet.http.*;
import java.io.*;
import java.nio.file.*;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.valves.AbstractAccessLogValve;

class Few {
    public static void main(String[] arguments) throws Exception {
        var tomcat = new Tomcat();
        tomcat.setBaseDir("base");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.getConnector().setProperty("maxConnections", "5");
        var context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "few", new HttpServlet() {
            @Override protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
                response.getWriter().write("ok");
            }
        });
        context.addServletMappingDecoded("/", "few");
        var log = new AbstractAccessLogValve() {
            @Override protected void log(CharArrayWriter line) {
                if (line.toString().startsWith("/sixth")) System.out.println(line);
            }
        };
        log.setPattern("%U %{ms}T");
        tomcat.getHost().getPipeline().addValve(log);
        tomcat.start();
        Files.writeString(Path.of("new"), "" + tomcat.getConnector().getLocalPort());
        Files.move(Path.of("new"), Path.of("port"));
        tomcat.getServer().await();
    }
}
JAVA
java -cp 'jars/*' Few.java >log 2>/dev/null &
trap "kill $! 2>/dev/null; rm -rf '$work'" EXIT
for _ in $(seq 300); do [ -s port ] && break; sleep 0.1; done
python3 - <<'PY'
import http.client
import threading
import time

port = int(open("port").read())
five = threading.Barrier(6)


def user() -> None:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for number in range(6):
        client.request("GET", "/")
        client.getresponse().read()
        if number == 0:
            five.wait()
        time.sleep(1)
    client.close()


users = [threading.Thread(target=user) for _ in range(5)]
for one in users:
    one.start()
five.wait()
began_s = time.monotonic()
sixth = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
sixth.connect()
connected_s = time.monotonic() - began_s
sixth.request("GET", "/sixth")
sixth.getresponse().read()
took_s = time.monotonic() - began_s
for one in users:
    one.join()
while not open("log").read().endswith("\n"):  # it is written after the response
    time.sleep(0.1)
logged_ms = int(open("log").read().split()[1])
print(f"Tomcat 10.1.59: the next user is connected after {connected_s:.1f} s, answered after {took_s:.1f} s; log: {logged_ms} ms")
if connected_s > 0.5 or took_s < 4 or logged_ms > 1000:
    raise SystemExit("CHANGED: not answered after 6 s")
PY
