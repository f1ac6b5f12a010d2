#!/usr/bin/env bash
# Question: one of two servers behind haproxy refuses connections, neither has a health check. What do clients see?
# Guess: 200; "retries 3" is the default, and the other server is idle.
# Seen: every second request is 503, after 3 s: haproxy repeats at the same server, a second apart. With "option redispatch"
# all are 200, at once.
# Since: seen with haproxy 2.6.12 of Debian 12 (its archive has one version at a time) and 3.0.11 of Debian 13.
# A user notices: one server of a pair fails in a test, and half of the users wait 3 s for an error.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/haproxy.bash"
python3 - <<'PY'
import http.client
import http.server
import threading
import time

from balancer import balancer, free_port


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


def answers(setting: str) -> list[tuple[int, int]]:
    """Return the code and the whole seconds of four requests."""
    with balancer(setting, free_port(), server.server_port) as port:
        seen = []
        for _ in range(4):
            began = time.monotonic()
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            client.request("GET", "/")
            code = client.getresponse().status
            client.close()
            seen.append((code, int(time.monotonic() - began)))
        return sorted(seen)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
default, redispatched = answers(""), answers("option redispatch")
print(f"code and seconds of four requests: {default}; with option redispatch: {redispatched}")
if [code for code, _ in default] != [204, 204, 503, 503] or default[-1][1] < 3 or redispatched != [(204, 0)] * 4:
    raise SystemExit("CHANGED: not half after 3 s, and none")
PY
