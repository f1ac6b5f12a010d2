#!/usr/bin/env bash
# Question: does the pattern "%D %T" of Tomcat's access log have the same units in Tomcat 9 and 10.1?
# Guess: yes; log formats are kept for the sake of those who parse them.
# Seen: no. For a response after 200 ms, Tomcat 9 writes "200 0.200": milliseconds, and seconds with three digits. Tomcat
# 10.1 writes "200000 0": microseconds, and whole seconds.
# Since: seen with 9.0.117 and 10.1.59.
# A user notices: after the upgrade the server's log is a thousand times slower than the load test, or always 0 s.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/support/tomcat.bash"
seen=$(in_each_tomcat Slow 9.0.117 10.1.59 <<'JAVA'
import java.io.*;
import java.net.URL;
import java.util.concurrent.*;
import org.apache.catalina.valves.AbstractAccessLogValve;

class Slow {
    public static void main(String[] arguments) throws Exception {
        var lines = new LinkedBlockingQueue<String>();
        var tomcat = Server.start(new HttpServlet() {
            @Override protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
                try { Thread.sleep(200); } catch (InterruptedException e) { throw new IOException(e); }
                response.getWriter().write("ok");
            }
        });
        var log = new AbstractAccessLogValve() {
            @Override protected void log(CharArrayWriter line) { lines.add(line.toString()); }
        };
        log.setPattern("%D %T");
        tomcat.getHost().getPipeline().addValve(log);
        new URL("http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/").openStream().readAllBytes();
        System.out.println(lines.poll(10, TimeUnit.SECONDS));
        System.exit(0);
    }
}
JAVA
)
echo "Tomcat, and %D %T of a response after 200 ms:"
echo "$seen"
[[ $seen =~ ^9.0.117\ [0-9]{3,4}\ [0-9]\.[0-9]{3}$'\n'10.1.59\ [0-9]{6,7}\ [0-9]$ ]] || { echo "CHANGED: other units"; exit 1; }
