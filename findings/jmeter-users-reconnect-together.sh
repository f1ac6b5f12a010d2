#!/usr/bin/env bash
# Question: 20 users keep their connections and send a request every half second. When does JMeter open connections?
# Guess: 20 at the start, and no more while the server keeps them.
# Seen: 20 at the start and 20 within a second after 60 s, and so each minute: httpclient4.time_to_live is 60,000 ms, of
# the connection's age, however busy it is. Users who began together do it together.
# Since: seen with JMeter 5.6.3.
# A user notices: a peak of response times each minute, at which the server does nothing; with 500 users 20 ms, not 1.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
. "$here/support/jmeter-http.bash"
serve <<'PY'
class Page(http.server.BaseHTTPRequestHandler):
    def setup(self):
        super().setup()
        with open("opened", "a") as file:
            file.write(f"{time.time()}\n")

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
PY
think='<ConstantTimer guiclass="ConstantTimerGui" testclass="ConstantTimer" testname="think">
<stringProp name="ConstantTimer.delay">500</stringProp></ConstantTimer><hashTree/>'
users=20
run 130 "$think" "$(request page)"
python3 - <<'PY'
import csv

begin, *_ = opened = sorted(map(float, open("opened")))
at_start, later = [at for at in opened if at < begin + 5], [at for at in opened if at >= begin + 5]
rows = list(csv.DictReader(open("rows.jtl")))
failed = sum(row["success"] != "true" for row in rows)
first, last = (at - begin for at in (later[0], later[-1])) if later else (0, 0)
print(f"JMeter 5.6.3: {len(rows)} requests of 20 users, {failed} failed; {len(at_start)} connections at the start,")
print(f"{len(later)} more from {first:.1f} to {last:.1f} s")
if (len(at_start), len(later), failed) != (20, 20, 0) or first < 59 or last > 63:
    raise SystemExit("CHANGED: other connections")
PY
