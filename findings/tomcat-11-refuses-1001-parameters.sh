#!/usr/bin/env bash
# Question: what does a servlet see of a form with 10,001 fields, and of one with 1,001, in Tomcat 9, 10.1 and 11?
# Guess: all of them, or an error in each version from the same number on.
# Seen: Tomcat 9 and 10.1 leave out the 10,001st without a word: the parameter is null, the response 200. Tomcat 11
# answers 400 to the form with 1,001 fields.
# Since: seen with 9.0.117, 10.1.59 and 11.0.14.
# A user notices: after the upgrade a page with a large table of inputs (a Faces form, a bulk edit) fails with 400.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/support/tomcat.bash"
seen=$(in_each_tomcat Form 9.0.117 10.1.59 11.0.14 <<'JAVA'
import java.io.IOException;
import java.net.*;
import java.util.stream.*;

class Form {
    public static void main(String[] arguments) throws Exception {
        var tomcat = Server.start(new HttpServlet() {
            @Override protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
                response.getWriter().write("" + request.getParameter("last"));
            }
        });
        for (int count : new int[] {1000, 1001, 10000, 10001}) {
            String fields = IntStream.range(1, count).mapToObj(i -> "f" + i + "=v&").collect(Collectors.joining()) + "last=v";
            var url = new URL("http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/");
            var connection = (HttpURLConnection) url.openConnection();
            connection.setDoOutput(true);
            connection.getOutputStream().write(fields.getBytes());
            int code = connection.getResponseCode();
            System.out.print(" " + (code == 200 ? new String(connection.getInputStream().readAllBytes()) : code));
        }
        System.exit(0);
    }
}
JAVA
)
echo "Tomcat, and the last of 1,000, 1,001, 10,000, 10,001 parameters:"
echo "$seen"
expected="9.0.117  v v v null
10.1.59  v v v null
11.0.14  v 400 400 400"
[ "$seen" = "$expected" ] || { echo "CHANGED: other limits"; exit 1; }
