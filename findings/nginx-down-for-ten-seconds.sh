#!/usr/bin/env bash
# Question: both servers behind nginx refuse connections for a moment, in which three requests come, and are well again.
# How long do clients get 502?
# Guess: until the servers are back; nginx tries the next request anew, as it does with a single server.
# Seen: for 10 s more: after one failure (max_fails=1) nginx takes a server for dead for fail_timeout, both at once here,
# and does not ask them. With a single server, or with "max_fails=0", the first request is 200.
# Since: seen with nginx 1.22.1 of Debian 12.
# A user notices: a restart or a full queue of a second is an outage of ten in the report.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get -qq -o APT::Sandbox::User=root download nginx
dpkg -x nginx_*.deb .
usr/sbin/nginx -v
python3 - <<'PY'
import http.client
import http.server
import socket
import subprocess
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def get(port: int) -> int:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    client.request("GET", "/")
    status = client.getresponse().status
    client.close()
    return status


def down_s(count: int, setting: str = "") -> float:
    """Return how long after so many servers are back the first request is no 502."""
    port, servers = free_port(), [free_port() for _ in range(count)]
    lines = "".join(f"server 127.0.0.1:{one} {setting};" for one in servers)
    folders = "".join(f"{name}_temp_path {name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open("nginx.conf", "w") as out:
        out.write(f"""daemon off; pid nginx.pid; events {{}} http {{ access_log off; {folders} upstream all {{ {lines} }}
            server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://all; }} }} }}""")
    nginx = subprocess.Popen(["usr/sbin/nginx", "-p", ".", "-c", "nginx.conf", "-e", "error.log"])
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        assert [get(port) for _ in range(3)] == [502] * 3
        for one in servers:
            threading.Thread(target=http.server.ThreadingHTTPServer(("127.0.0.1", one), Handler).serve_forever, daemon=True).start()
        began_s = time.monotonic()
        while get(port) == 502 and time.monotonic() < began_s + 20:
            time.sleep(0.1)
        return time.monotonic() - began_s
    finally:
        nginx.terminate()
        nginx.wait()


two, single, unlimited = down_s(2), down_s(1), down_s(2, "max_fails=0")
print(f"502 after the servers are back: two {two:.1f} s, a single one {single:.1f} s, two with max_fails=0 {unlimited:.1f} s")
if not 8 < two < 13 or single > 1 or unlimited > 1:
    raise SystemExit("CHANGED: not 10 s, 0 and 0")
PY
