#!/usr/bin/env bash
# Question: how many connections does haproxy open to a server for 20 clients that send one request each, in turn?
# Guess: one; it has a pool of idle connections to the server and reuses it.
# Seen: 20. The default "http-reuse safe" sends the first request of each client connection on a new connection, because a
# request on an idle one can fail; 20 requests of one client use one connection. With "http-reuse always" it is one or
# two, one pool per thread.
# Since: seen with haproxy 2.6.12 of Debian 12 (its archive has one version at a time) and 3.0.11 of Debian 13.
# A user notices: a load test that connects for each iteration measures connecting to the server too, and the server runs
# out of ports; with kept client connections all of that disappears.
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

from balancer import balancer


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    accepted = 0

    def setup(self):
        Handler.accepted += 1
        super().setup()

    def do_GET(self):
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


def get(client: http.client.HTTPConnection) -> None:
    client.request("GET", "/")
    response = client.getresponse()
    response.read()
    assert response.status == 204


def connections(reuse: str, clients: int, requests: int) -> int:
    """Return how many connections the server gets from a new haproxy."""
    with balancer(reuse, server.server_port) as port:
        Handler.accepted = 0
        for _ in range(clients):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            for _ in range(requests):
                get(client)
            client.close()
        return Handler.accepted


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.handle_error = lambda *words: None
threading.Thread(target=server.serve_forever, daemon=True).start()
many, one, always = connections("", 20, 1), connections("", 1, 20), connections("http-reuse always", 20, 1)
print(f"connections to the server: 20 clients {many}, 1 client with 20 requests {one}, 20 clients with reuse always {always}")
if (many, one) != (20, 1) or always > 4:
    raise SystemExit("CHANGED: not 20, 1, and few")
PY
