#!/usr/bin/env bash
# Question: a POST is answered with a redirect. Which method has JMeter's next request, with Follow Redirects, for 307, 308?
# Guess: POST with the same body, as these codes say.
# Seen: for 308 a GET without a body, and for 307 no request at all. Both rows are successes, with the codes 200 and 307.
# Since: seen with JMeter 5.6.3.
# A user notices: nothing fails, but the data of these forms never arrive.
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
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Page)
open("port", "w").write(str(server.server_port))
server.serve_forever()
PY
python3 server.py &
server=$!
for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
request() { # a POST to path $1
    cat <<XML
<HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="$1">
<stringProp name="HTTPSampler.domain">127.0.0.1</stringProp><stringProp name="HTTPSampler.port">$(cat port)</stringProp>
<stringProp name="HTTPSampler.protocol">http</stringProp><stringProp name="HTTPSampler.path">/$1</stringProp>
<stringProp name="HTTPSampler.method">POST</stringProp><boolProp name="HTTPSampler.follow_redirects">true</boolProp>
<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">
<elementProp name="a" elementType="HTTPArgument"><stringProp name="Argument.name">a</stringProp>
<stringProp name="Argument.value">1</stringProp><stringProp name="Argument.metadata">=</stringProp></elementProp></collectionProp></elementProp>
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
$(request 307)$(request 308)
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l rows.jtl >/dev/null
kept=$(cat seen-target308)
lost=$(cat seen-target307 2>/dev/null || echo none)
codes=$(python3 -c 'import csv
print(*(row["responseCode"] + row["success"] for row in csv.DictReader(open("rows.jtl"))))')
echo "JMeter 5.6.3, method and length of body after a POST: 308 $kept, 307 $lost; codes and successes: $codes"
[ "$kept, $lost, $codes" = "GET 0, none, 307true 200true 308true 200true" ] || { echo "CHANGED: not GET 0, none, 307 and 200"; exit 1; }
