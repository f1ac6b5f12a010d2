#!/usr/bin/env bash
# Question: does the pattern "%D %T" of Tomcat's access log have the same units in Tomcat 9 and 10.1?
# Guess: yes; log formats are kept for the sake of those who parse them.
# Seen: no. For a response after 200 ms, Tomcat 9 writes "200 0.200": milliseconds, and seconds with three digits. Tomcat
# 10.1 writes "200000 0": microseconds, and whole seconds.
# Since: seen with 9.0.117 and 10.1.59.
# A user notices: after the upgrade the server's log is a thousand times slower than the load test, or always 0 s.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for version in 9.0.117 10.1.59; do
    mkdir "$work/$version" && cd "$work/$version"
    api=jakarta && [ "${version%%.*}" != 9 ] || api=javax
    cat >pom.xml <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>server</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.tomcat.embed</groupId><artifactId>tomcat-embed-core</artifactId><version>$version</version></dependency>
</dependencies></project>
XML
    mvn -q -B -Dstyle.color=never dependency:copy-dependencies -DoutputDirectory=jars >/dev/null
    cat >Slow.java <<JAVA
import $api.servlet.http.*;
import java.io.*;
import java.net.URL;
import java.util.concurrent.*;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.valves.AbstractAccessLogValve;

class Slow {
    public static void main(String[] arguments) throws Exception {
        var lines = new LinkedBlockingQueue<String>();
        var tomcat = new Tomcat();
        tomcat.setBaseDir("base");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        var context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "slow", new HttpServlet() {
            @Override protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
                try { Thread.sleep(200); } catch (InterruptedException e) { throw new IOException(e); }
                response.getWriter().write("ok");
            }
        });
        context.addServletMappingDecoded("/", "slow");
        var log = new AbstractAccessLogValve() {
            @Override protected void log(CharArrayWriter line) { lines.add(line.toString()); }
        };
        log.setPattern("%D %T");
        tomcat.getHost().getPipeline().addValve(log);
        tomcat.start();
        new URL("http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/").openStream().readAllBytes();
        System.out.println(lines.poll(10, TimeUnit.SECONDS));
        System.exit(0);
    }
}
JAVA
    line=$(java -cp 'jars/*' Slow.java 2>/dev/null)
    echo "Tomcat $version: %D %T of a response after 200 ms: $line"
    case $version in 9.*) nine=$line ;; *) ten=$line ;; esac
done
[[ $nine =~ ^[0-9]{3,4}\ [0-9]\.[0-9]{3}$ && $ten =~ ^[0-9]{6,7}\ [0-9]$ ]] || { echo "CHANGED: other units"; exit 1; }
