#!/usr/bin/env bash
# Question: a server promises 30,000 bytes, sends 20,000 and closes the connection. What are bytes and sentBytes in JMeter's
# row?
# Guess: 20,000 and the headers, and about 120; or 0 and 0.
# Seen: about 1,300 and 0: an error's row has the length of its Java stack trace as bytes, and nothing as sent. The page
# of a server that promises no length (Connection: close) and ends early is a success.
# Since: seen with JMeter 5.6.3.
# A user notices: KB/s received in a test with refused or broken connections is that of stack traces: of 1,000 failures
# per second about 1.3 MB/s, and no byte came over the network.
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
        self.send_response(200)
        if self.path == "/promised":
            self.send_header("Content-Length", "30000")
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"a" * 20000)
        self.close_connection = True
PY
run 1 "" "$(request promised)$(request open)"
python3 - <<'PY'
import csv

rows = {row["label"]: row for row in csv.DictReader(open("rows.jtl", newline=""))}
cut, whole = ((row["success"], int(row["bytes"]), int(row["sentBytes"])) for row in (rows["promised"], rows["open"]))
print(f"success, bytes and sentBytes: a promised length {cut}, none {whole}")
if cut[0] != "false" or not 500 < cut[1] < 10_000 or cut[2] or whole[0] != "true" or not 20_000 < whole[1] < 21_000:
    raise SystemExit("CHANGED: not a stack trace's bytes, and a success")
PY
