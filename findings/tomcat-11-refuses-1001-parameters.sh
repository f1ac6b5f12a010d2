#!/usr/bin/env bash
# Question: what does a servlet see of a form with 10,001 fields, and of one with 1,001, in Tomcat 9, 10.1 and 11?
# Guess: all of them, or an error in each version from the same number on.
# Seen: Tomcat 9 and 10.1 leave out the 10,001st without a word: the parameter is null, the response 200. Tomcat 11
# answers 400 to the form with 1,001 fields.
# Since: seen with 9.0.117, 10.1.59 and 11.0.14.
# A user notices: after the upgrade a page with a large table of inputs (a Faces form, a bulk edit) fails with 400.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seen=
for version in 9.0.117 10.1.59 11.0.14; do
    mkdir "$work/$version" && cd "$work/$version"
    api=jakarta && [ "${version%%.*}" != 9 ] || api=javax
    cat >pom.xml <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>server</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.tomcat.embed</groupId><artifactId>tomcat-embed-core</artifactId><version>$version</version></dependency>
</dependencies></project>
XML
    mvn -q -B -Dstyle.color=never dependency:copy-dependencies -DoutputDirectory=jars >/dev/null
    cat >Form.java <<JAVA
import $api.servlet.http.*;
import java.io.IOException;
import java.net.*;
import java.util.stream.*;
import org.apache.catalina.startup.Tomcat;

class Form {
    public static void main(String[] arguments) throws Exception {
        var tomcat = new Tomcat();
        tomcat.setBaseDir("base");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        var context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "form", new HttpServlet() {
            @Override protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
                response.getWriter().write("" + request.getParameter("last"));
            }
        });
        context.addServletMappingDecoded("/", "form");
        tomcat.start();
        for (int count : new int[] {1000, 1001, 10000, 10001}) {
            String fields = IntStream.range(1, count).mapToObj(i -> "f" + i + "=v&").collect(Collectors.joining()) + "last=v";
            var url = new URL("http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/");
            var connection = (HttpURLConnection) url.openConnection();
            connection.setDoOutput(true);
            connection.getOutputStream().write(fields.getBytes());
            int code = connection.getResponseCode();
            System.out.print(code == 200 ? new String(connection.getInputStream().readAllBytes()) + " " : code + " ");
        }
        System.exit(0);
    }
}
JAVA
    line=$(java -cp 'jars/*' Form.java 2>/dev/null)
    echo "Tomcat $version: the last of 1,000, 1,001, 10,000, 10,001 parameters: $line"
    seen="$seen$line"
done
[ "$seen" = "v v v null v v v null v 400 400 400 " ] || { echo "CHANGED: other limits"; exit 1; }
