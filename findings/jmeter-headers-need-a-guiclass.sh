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
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
. "$here/support/jmeter-http.bash"
serve <<'PY'
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open("seen", "w").write(str(self.headers.get("X-Tenant")))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
PY
header() { # what the server sees if the Header Manager has guiclass=$1
    local manager="<HeaderManager guiclass='$1' testclass='HeaderManager' testname='headers'>"
    manager+='<collectionProp name="HeaderManager.headers"><elementProp name="" elementType="Header">
<stringProp name="Header.name">X-Tenant</stringProp><stringProp name="Header.value">acme</stringProp></elementProp>
</collectionProp></HeaderManager><hashTree/>'
    rm -f seen
    run 1 "$manager" "$(request page)"
    grep -q ',page,200,' rows.jtl && cat seen
}
panel=$(header HeaderPanel)
empty=$(header "")
other=$(header LogicControllerGui)
echo "JMeter 5.6.3, X-Tenant at the server: $panel with guiclass HeaderPanel, $empty with an empty one, $other with another"
[ "$panel $empty $other" = "acme None None" ] || { echo "CHANGED: not acme, None and None"; exit 1; }
