#!/usr/bin/env bash
# Question: what does "siege -r 10 -c 1" print for a page that is always 404, and for one that is always 401?
# Guess: 10 failed transactions and 0 % availability for both.
# Seen: 404: "Availability 100.00 %" and "Failed transactions 0", while "Successful transactions" is 0. 401: 50
# transactions, all successful: each is sent five times. Only codes from 500 on fail.
# Since: seen with siege 4.0.7 (of Debian 12, whose archive has one version at a time).
# A user notices: a test of a wrong path is 100 % available and very fast; an expired password is five times the load.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get -qq -o APT::Sandbox::User=root download siege
dpkg -x siege_*.deb .
printf 'verbose = false\nlogging = false\n' >siegerc
python3 - <<'PY'
import http.server
import os
import re
import subprocess
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(self.path[1:]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
seen = {}
for code in (404, 401, 500):
    command = ["usr/bin/siege", "-R", "siegerc", "-b", "-r", "10", "-c", "1", f"http://127.0.0.1:{server.server_port}/{code}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "HOME": os.getcwd()})
    names = ("Transactions", "Availability", "Successful transactions", "Failed transactions")
    text = done.stdout + done.stderr
    seen[code] = [float(re.search(rf"^{name}:\s+([\d.]+)", text, re.MULTILINE)[1]) for name in names]
    print(code, dict(zip(names, seen[code], strict=True)))
if seen != {404: [10, 100, 0, 0], 401: [50, 100, 50, 0], 500: [0, 0, 0, 10]}:
    raise SystemExit("CHANGED: other counts")
PY
