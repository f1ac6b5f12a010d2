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
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
cat >server.py <<'PY'
import http.server
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
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
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Page)
open("port", "w").write(str(server.server_port))
server.serve_forever()
PY
python3 server.py &
server=$!
for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
count() { # requests and rows of path $1
    cat >plan.jmx <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<CacheManager guiclass="CacheManagerGui" testclass="CacheManager" testname="cache">
<boolProp name="clearEachIteration">false</boolProp><boolProp name="useExpires">true</boolProp></CacheManager><hashTree/>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">1</stringProp>
<boolProp name="ThreadGroup.same_user_on_next_iteration">true</boolProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">5</stringProp>
</elementProp></ThreadGroup><hashTree>
<HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="page">
<stringProp name="HTTPSampler.domain">127.0.0.1</stringProp><stringProp name="HTTPSampler.port">$(cat port)</stringProp>
<stringProp name="HTTPSampler.protocol">http</stringProp><stringProp name="HTTPSampler.path">/$1</stringProp>
<stringProp name="HTTPSampler.method">GET</stringProp><boolProp name="HTTPSampler.use_keepalive">true</boolProp>
<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments"/></elementProp>
</HTTPSamplerProxy><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
    java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l "$1.jtl" >/dev/null
    echo "$(wc -l <"seen-$1") $(grep -c ,page, "$1.jtl")"
}
tagged=$(count tagged)
asks=$(count asks)
echo "JMeter 5.6.3, five iterations, requests and rows: an ETag alone $tagged; with Cache-Control: no-cache $asks"
[ "$tagged" = "1 1" ] && [ "$asks" = "5 5" ] || { echo "CHANGED: not 1 1 and 5 5"; exit 1; }
