#!/usr/bin/env bash
# Question: a POST is answered with a redirect. Which method has JMeter's next request, with Follow Redirects, for 307, 308?
# Guess: POST with the same body, as these codes say.
# Seen: for 308 a GET without a body, and for 307 no request at all. Both rows are successes, with the codes 200 and 307.
# Since: seen with JMeter 5.6.3.
# A user notices: nothing fails, but the data of these forms never arrive.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
. "$here/support/jmeter-http.bash"
serve <<'PY'
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if self.path in ("/307", "/308"):
            self.send_response(int(self.path[1:]))
            self.send_header("Location", "/target" + self.path[1:])
        else:
            open("seen" + self.path.replace("/", "-"), "a").write(f"{self.command} {len(body)}")
            self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_POST = do_GET
PY
parameter='<elementProp name="a" elementType="HTTPArgument"><stringProp name="Argument.name">a</stringProp>
<stringProp name="Argument.value">1</stringProp><stringProp name="Argument.metadata">=</stringProp></elementProp>'
run 1 "" "$(request 307 POST "$parameter")$(request 308 POST "$parameter")"
kept=$(cat seen-target308)
lost=$(cat seen-target307 2>/dev/null || echo none)
codes=$(python3 -c 'import csv
print(*(row["responseCode"] + row["success"] for row in csv.DictReader(open("rows.jtl"))))')
echo "JMeter 5.6.3, method and length of body after a POST: 308 $kept, 307 $lost; codes and successes: $codes"
[ "$kept, $lost, $codes" = "GET 0, none, 307true 200true 308true 200true" ] || { echo "CHANGED: not GET 0, none, 307 and 200"; exit 1; }
