#!/usr/bin/env bash
# Question: a response deletes a cookie with Max-Age=0 or with an end on 1 January 1970, as PHP and Shiro do with a value
# such as "deleted". Does JMeter's HTTP Cookie Manager send the cookie afterwards? And one of Max-Age=1 after 3 s?
# Guess: none of them, as in browsers.
# Seen: the one of 1 January 1970 00:00:00 is sent as "deleted", since an end of 0 is none for JMeter; 00:00:10 works.
# Max-Age=0 is sent too if JMeter reads the cookie within a millisecond (9 of 10 times), and Max-Age=1 after 3 s, because
# JMeter looks at an end only when a cookie arrives. A cookie without a value is deleted.
# Since: seen with JMeter 5.6.3.
# A user notices: users that logged out are still logged in, or fail with a session "deleted".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
cat >server.py <<'PY'
import http.server
COOKIES = ("epoch=deleted; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "later=deleted; Expires=Thu, 01 Jan 1970 00:00:10 GMT",
           "short=1; Max-Age=1", "zero=deleted; Max-Age=0")
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        open("seen" + self.path.replace("/", "-"), "a").write((self.headers.get("Cookie") or "") + "\n")
        self.send_response(200)
        for cookie in COOKIES if self.path == "/delete" else ():
            self.send_header("Set-Cookie", cookie + "; Path=/")
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
request() { # a GET of path $1 after a pause of $2 ms
    cat <<XML
<HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="$1">
<stringProp name="HTTPSampler.domain">127.0.0.1</stringProp><stringProp name="HTTPSampler.port">$(cat port)</stringProp>
<stringProp name="HTTPSampler.protocol">http</stringProp><stringProp name="HTTPSampler.path">/$1</stringProp>
<stringProp name="HTTPSampler.method">GET</stringProp><boolProp name="HTTPSampler.use_keepalive">true</boolProp>
<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments"/></elementProp>
</HTTPSamplerProxy><hashTree><ConstantTimer guiclass="ConstantTimerGui" testclass="ConstantTimer" testname="pause">
<stringProp name="ConstantTimer.delay">$2</stringProp></ConstantTimer><hashTree/></hashTree>
XML
}
cat >plan.jmx <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<CookieManager guiclass="CookiePanel" testclass="CookieManager" testname="cookies">
<collectionProp name="CookieManager.cookies"/></CookieManager><hashTree/>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">1</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">1</stringProp>
</elementProp></ThreadGroup><hashTree>
$(request warm 0)$(request delete 0)$(request read 3000)
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l rows.jtl >/dev/null
sent=$(cat seen-read)
echo "JMeter 5.6.3, cookies sent after their end: $sent"
case "$sent" in *later*) later=kept ;; *) later=deleted ;; esac
case "$sent" in *epoch=deleted*short=1*) kept=yes ;; *) kept=no ;; esac
[ "$kept $later" = "yes deleted" ] || { echo "CHANGED: not epoch and short without later"; exit 1; }
