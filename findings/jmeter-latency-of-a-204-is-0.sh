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
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
cat >server.py <<'PY'
import http.server, time
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
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
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Page)
open("port", "w").write(str(server.server_port))
server.serve_forever()
PY
python3 server.py &
server=$!
for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
request() { # a GET of path $1
    cat <<XML
<HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="$1">
<stringProp name="HTTPSampler.domain">127.0.0.1</stringProp><stringProp name="HTTPSampler.port">$(cat port)</stringProp>
<stringProp name="HTTPSampler.protocol">http</stringProp><stringProp name="HTTPSampler.path">/$1</stringProp>
<stringProp name="HTTPSampler.method">GET</stringProp><boolProp name="HTTPSampler.use_keepalive">true</boolProp>
<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments"/></elementProp>
</HTTPSamplerProxy><hashTree/>
XML
}
cat >plan.jmx <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">1</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">1</stringProp>
</elementProp></ThreadGroup><hashTree>
$(request warm)$(request none)$(request body)
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l rows.jtl >/dev/null
latency() { python3 -c 'import csv, sys
print(next(row["Latency"] for row in csv.DictReader(open("rows.jtl")) if row["label"] == sys.argv[1]))' "$1"; }
none=$(latency none)
body=$(latency body)
echo "JMeter 5.6.3, Latency of a 204 after 300 ms: $none; of a 200 whose body comes 300 ms after its headers: $body"
[ "$none" -eq 0 ] && [ "$body" -ge 290 ] || { echo "CHANGED: not 0 and 300"; exit 1; }
