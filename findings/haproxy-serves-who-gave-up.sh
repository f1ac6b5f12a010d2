#!/usr/bin/env bash
# Question: a server behind haproxy takes one request at a time (maxconn 1), each takes 1 s. Five users send one at once, and
# give up after 0.5 s. How many requests does the server work on?
# Guess: one; the others were still in haproxy's queue when their users left.
# Seen: all five, one after the other, for users who are gone. With "option abortonclose" at most three: haproxy then takes
# those who left out of its queue.
# Since: seen with haproxy 2.6.12 of Debian 12.
# A user notices: an overloaded system stays busy, and slow for new users, long after a load with time-outs has ended.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/haproxy.bash"
python3 - <<'PY'
import concurrent.futures
import http.client
import http.server
import threading
import time

from balancer import balancer


class Server(http.server.ThreadingHTTPServer):
    worked = 0

    def handle_error(self, *_):
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.worked += 1
        time.sleep(1)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


def give_up(port: int) -> None:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=0.5)
    try:
        client.request("GET", "/")
        client.getresponse()
    except TimeoutError:
        pass
    finally:
        client.close()


def worked(setting: str) -> int:
    """Return how many of five requests the server worked on although each user gave up."""
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with balancer(f"{setting}\n default-server maxconn 1", server.server_port) as port:
        with concurrent.futures.ThreadPoolExecutor(5) as users:
            list(users.map(give_up, [port] * 5))
        time.sleep(6)
    return server.worked


default, aborting = worked(""), worked("option abortonclose")
print(f"requests of five users who gave up that reached the server: {default}; with option abortonclose: {aborting}")
if default != 5 or not 1 <= aborting <= 3:
    raise SystemExit("CHANGED: not 5, and 1 to 3")
PY
