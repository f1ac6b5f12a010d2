#!/usr/bin/env bash
# Question: a server answers after 300 ms with 204, and another time sends the headers of a 200 at once and its body after
# 300 ms. What is Latency, "the time to the first byte", in JMeter's JTL?
# Guess: 300 ms, and about 0.
# Seen: the other way round: 0 for the 204, and 300 ms for the 200. JMeter takes Latency at the first byte of the body; a
# response without one (204, 304, of HEAD) has Latency 0.
# Since: seen with JMeter 5.6.3.
# A user notices: an average latency far below the average time where many responses have no body.
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
        if self.path == "/none":
            time.sleep(0.3)
            self.send_response(204)
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.flush()
        time.sleep(0.3 if self.path == "/body" else 0)
        self.wfile.write(b"ok")
PY
run 1 "" "$(request warm)$(request none)$(request body)"
latency() { python3 -c 'import csv, sys
print(next(row["Latency"] for row in csv.DictReader(open("rows.jtl")) if row["label"] == sys.argv[1]))' "$1"; }
none=$(latency none)
body=$(latency body)
echo "JMeter 5.6.3, Latency of a 204 after 300 ms: $none; of a 200 whose body comes 300 ms after its headers: $body"
[ "$none" -eq 0 ] && [ "$body" -ge 290 ] || { echo "CHANGED: not 0 and 300"; exit 1; }
