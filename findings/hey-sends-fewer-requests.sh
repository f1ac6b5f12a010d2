#!/usr/bin/env bash
# Question: how many requests does "hey -n 200 -c 60" send?
# Guess: 200, as ab does.
# Seen: 180. Each of the 60 workers sends 200 / 60 requests without the remainder; no message says so.
# Since: seen with hey 0.1.4.
# A user notices: a tenth of the data is not touched, and totals differ from those of other tools.
set -euo pipefail
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
GOBIN=$work GOFLAGS=-modcacherw go install github.com/rakyll/hey@v0.1.4
python3 - <<'PY'
import http.server
import subprocess
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    seen = 0

    def do_GET(self):
        Handler.seen += 1
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
command = ["./hey", "-n", "200", "-c", "60", f"http://127.0.0.1:{server.server_port}/"]
subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60)
print(f"hey 0.1.4 -n 200 -c 60: the server saw {Handler.seen} requests")
if Handler.seen != 180:
    raise SystemExit("CHANGED: not 180")
PY
