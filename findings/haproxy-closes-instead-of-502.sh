#!/usr/bin/env bash
# Question: a server closes its kept connection when haproxy sends the second request on it. What does a client see that
# keeps its own connection to haproxy?
# Guess: 502, or the request is sent again to the server.
# Seen: neither: haproxy closes the connection to the client without a response, and counts on the client to repeat, as
# browsers do. A client that opens a connection per request never sees it; with "retry-on all-retryable-errors" nobody.
# Since: seen with haproxy 2.6.12 of Debian 12 (its archive has one version at a time) and 3.0.11 of Debian 13.
# A user notices: NoHttpResponseException in a load test, which blames haproxy; a browser test has no error at all.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/haproxy.bash"
python3 - <<'PY'
import contextlib
import http.client
import socket
import threading

from balancer import balancer


def answer(client: socket.socket) -> None:
    """Answer the first request of a connection, and close it when the second one comes."""
    with client, contextlib.suppress(ConnectionError):
        if client.recv(65536):
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            client.recv(65536)


def accept(server: socket.socket) -> None:
    while True:
        threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()


def answers(setting: str, is_kept: bool) -> list[str]:
    with balancer(setting, server.getsockname()[1]) as port:
        client, seen = http.client.HTTPConnection("127.0.0.1", port, timeout=10), []
        for _ in range(4):
            try:
                client.request("GET", "/")
                response = client.getresponse()
                response.read()
                seen.append(str(response.status))
            except http.client.RemoteDisconnected:
                seen.append("closed")
                client.close()
            if not is_kept:
                client.close()
        return seen


server = socket.create_server(("127.0.0.1", 0), backlog=128)
threading.Thread(target=accept, args=(server,), daemon=True).start()
kept, single, repeated = answers("", True), answers("", False), answers("retry-on all-retryable-errors", True)
print(f"a kept client connection: {kept}; a connection per request: {single}; with retry-on: {repeated}")
if kept != ["200", "closed", "200", "closed"] or set(single + repeated) != {"200"}:
    raise SystemExit("CHANGED: not every second one closed, and none")
PY
