#!/usr/bin/env bash
# Question: a servlet answers with 400 because a field is missing, with 404, 409, 429, 500 or 503. After which of them does
# Tomcat keep the client's connection?
# Guess: after all; the response has a length, and the application chose the code.
# Seen: after 404, 409 and 429. With 400, 408, 413, 500, 501 and 503 Tomcat adds "Connection: close", whoever set the code.
# Since: seen with 9.0.117, 10.1.59 and 11.0.14.
# A user notices: with the share of errors grows the number of connections, and over TLS the CPU time and the time of the
# next request; a limit that answers 503 makes an overload worse, one that answers 429 does not.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/support/tomcat.bash"
seen=$(in_each_tomcat Codes 9.0.117 10.1.59 11.0.14 <<'JAVA'
import java.io.IOException;
import java.net.*;

class Codes {
    public static void main(String[] arguments) throws Exception {
        var tomcat = Server.start(new HttpServlet() {
            @Override protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
                response.setStatus(Integer.parseInt(request.getRequestURI().substring(1)));
                response.getWriter().write("no");
            }
        });
        for (int code : new int[] {200, 400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 501, 502, 503, 504}) {
            var url = new URL("http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/" + code);
            var connection = (HttpURLConnection) url.openConnection();
            if (connection.getResponseCode() != code) throw new IllegalStateException("not " + code);
            if ("close".equals(connection.getHeaderField("Connection"))) System.out.print(" " + code);
        }
        System.exit(0);
    }
}
JAVA
)
echo "Tomcat, and the codes after which it closes the connection:"
echo "$seen"
closing=" 400 408 413 500 501 503"
[ "$seen" = "$(printf "%s $closing\n" 9.0.117 10.1.59 11.0.14)" ] || { echo "CHANGED: other codes"; exit 1; }
