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
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
. "$here/support/jmeter-http.bash"
serve <<'PY'
COOKIES = ("epoch=deleted; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "later=deleted; Expires=Thu, 01 Jan 1970 00:00:10 GMT",
           "short=1; Max-Age=1", "zero=deleted; Max-Age=0")
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open("seen" + self.path.replace("/", "-"), "a").write((self.headers.get("Cookie") or "") + "\n")
        self.send_response(200)
        for cookie in COOKIES if self.path == "/delete" else ():
            self.send_header("Set-Cookie", cookie + "; Path=/")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
PY
pause='<ConstantTimer guiclass="ConstantTimerGui" testclass="ConstantTimer" testname="pause">
<stringProp name="ConstantTimer.delay">3000</stringProp></ConstantTimer><hashTree/>'
cookies='<CookieManager guiclass="CookiePanel" testclass="CookieManager" testname="cookies">
<collectionProp name="CookieManager.cookies"/></CookieManager><hashTree/>'
run 1 "$cookies" "$(request warm)$(request delete)$(request read GET "" "$pause")"
sent=$(cat seen-read)
echo "JMeter 5.6.3, cookies sent after their end: $sent"
case "$sent" in *later*) later=kept ;; *) later=deleted ;; esac
case "$sent" in *epoch=deleted*short=1*) kept=yes ;; *) kept=no ;; esac
[ "$kept $later" = "yes deleted" ] || { echo "CHANGED: not epoch and short without later"; exit 1; }
