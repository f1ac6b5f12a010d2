#!/usr/bin/env bash
# Question: a user requests /page five times, with an HTTP Cache Manager as JMeter's editor adds it. The response has an
# ETag and no other header about caching. How many requests does the server get, and how many rows has the JTL?
# Guess: five requests, four of them with If-None-Match, as browsers do without a lifetime; five rows.
# Seen: one request and one row. A response without Last-Modified, Expires and max-age is kept for a year if it has an
# ETag, and a request that the cache answers has no row. With Cache-Control: no-cache it is five and five.
# Since: seen with JMeter 5.6.3.
# A user notices: a label with one sample per user beside labels with thousands; the system gets less load than asked.
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
        with open("seen" + self.path.replace("/", "-"), "a") as seen:
            seen.write("conditional\n" if self.headers.get("If-None-Match") else "plain\n")
        self.send_response(200)
        self.send_header("ETag", '"1"')
        if self.path == "/asks":
            self.send_header("Cache-Control", "no-cache")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
PY
cache='<CacheManager guiclass="CacheManagerGui" testclass="CacheManager" testname="cache">
<boolProp name="clearEachIteration">false</boolProp><boolProp name="useExpires">true</boolProp></CacheManager><hashTree/>'
count() { # requests and rows of path $1
    run 5 "$cache" "$(request "$1")"
    echo "$(wc -l <"seen-$1") $(grep -c ",$1," rows.jtl)"
}
tagged=$(count tagged)
asks=$(count asks)
echo "JMeter 5.6.3, five iterations, requests and rows: an ETag alone $tagged; with Cache-Control: no-cache $asks"
[ "$tagged" = "1 1" ] && [ "$asks" = "5 5" ] || { echo "CHANGED: not 1 1 and 5 5"; exit 1; }
