#!/usr/bin/env bash
# Question: a JMX that a program wrote has a Header Manager with guiclass="" or "LogicControllerGui" instead of
# "HeaderPanel". What does JMeter without its editor (-n) do with the header?
# Guess: it is sent: a GUI class matters to the GUI only; or the plan is refused.
# Seen: it is not sent, and nothing says so. HTTP samplers take headers, cookies, caches, log-ins and defaults only from
# elements whose guiclass is TestBeanGUI or in a list of eight. A missing attribute is refused.
# Since: seen with JMeter 5.6.3.
# A user notices: plans from generators run without their Authorization header or cookies: 401, or a login page with 200.
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
        open("seen", "w").write(str(self.headers.get("X-Tenant")))
        self.send_response(200)
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
header() { # what the server sees if the Header Manager has guiclass=$1
    cat >plan.jmx <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<HeaderManager guiclass="$1" testclass="HeaderManager" testname="headers"><collectionProp name="HeaderManager.headers">
<elementProp name="" elementType="Header"><stringProp name="Header.name">X-Tenant</stringProp>
<stringProp name="Header.value">acme</stringProp></elementProp></collectionProp></HeaderManager><hashTree/>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">1</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">1</stringProp>
</elementProp></ThreadGroup><hashTree>
<HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="page">
<stringProp name="HTTPSampler.domain">127.0.0.1</stringProp><stringProp name="HTTPSampler.port">$(cat port)</stringProp>
<stringProp name="HTTPSampler.protocol">http</stringProp><stringProp name="HTTPSampler.path">/</stringProp>
<stringProp name="HTTPSampler.method">GET</stringProp>
<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments"/></elementProp>
</HTTPSamplerProxy><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
    rm -f seen rows.jtl
    java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l rows.jtl >/dev/null
    grep -q ',page,200,' rows.jtl && cat seen
}
panel=$(header HeaderPanel)
empty=$(header "")
other=$(header LogicControllerGui)
echo "JMeter 5.6.3, X-Tenant at the server: $panel with guiclass HeaderPanel, $empty with an empty one, $other with another"
[ "$panel $empty $other" = "acme None None" ] || { echo "CHANGED: not acme, None and None"; exit 1; }
