#!/usr/bin/env bash
# Question: a server refuses an upload of 60 MB with 413 after its headers, and closes. What is the code in JMeter's JTL?
# Guess: 413; curl prints it.
# Seen: "Non HTTP response code: java.net.SocketException", Broken pipe or Connection reset: JMeter does not read the
# response of a request that it could not send to its end. curl stops to send, and reads the 413.
# Since: seen with JMeter 5.6.3 and curl 7.88.
# A user notices: network errors where the server says "too large", 401 or 429; its own log has these answers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
. "$here/support/jmeter-http.bash"
serve <<'PY'
class Page(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(413)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.flush()
        for _ in range(20):  # what is on its way already
            self.rfile.read1(65536)
        self.close_connection = True
PY
truncate -s 60M large.bin
file="<elementProp name=\"HTTPsampler.Files\" elementType=\"HTTPFileArgs\"><collectionProp name=\"HTTPFileArgs.files\">
<elementProp name=\"f\" elementType=\"HTTPFileArg\"><stringProp name=\"File.path\">$work/large.bin</stringProp>
<stringProp name=\"File.paramname\">f</stringProp><stringProp name=\"File.mimetype\">application/octet-stream</stringProp>
</elementProp></collectionProp></elementProp>"
upload=$(request upload POST)
run 3 "" "${upload/<boolProp/$file<boolProp}"
codes=$(python3 -c 'import csv; print(*sorted({row["responseCode"] for row in csv.DictReader(open("rows.jtl"))}))')
curl=$(curl -s -o /dev/null -w '%{http_code}' -F f=@large.bin "http://127.0.0.1:$(cat port)/upload" || true)
echo "an upload refused with 413: JMeter 5.6.3 writes $codes; curl $curl"
[[ $codes == *java.net.SocketException && $curl == 413 ]] || { echo "CHANGED: not an exception and 413"; exit 1; }
