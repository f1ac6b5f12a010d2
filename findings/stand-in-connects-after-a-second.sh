#!/usr/bin/env bash
# Question: how long do 50 users wait for a connection to Python's ThreadingHTTPServer, if they arrive together?
# Guess: a few milliseconds; it starts a thread per connection.
# Seen: over 1,000 ms for most. Its queue of connections has five places (request_queue_size); the kernel drops what
# does not fit, and the client tries again after one second. With 128 places all wait a few milliseconds.
# Since: seen with Python 3.11 on Linux.
# A user notices: connect times of almost exactly 1 or 3 s at the start of a run, which look like a slow system.
set -euo pipefail
python3 - <<'PY'
import http.server
import platform
import select
import socket
import threading
import time


class Wide(http.server.ThreadingHTTPServer):
    request_queue_size = 128


def slow_connects(kind: type) -> int:
    """Count connections of 50 at once that take over 0.9 s."""
    server = kind(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    server.handle_error = lambda *words: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    start, clients, late = time.perf_counter(), [], 0
    for _ in range(50):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", server.server_port))
        clients.append(client)
    waiting = list(clients)
    while waiting and time.perf_counter() - start < 8:
        for client in select.select([], waiting, [], 0.5)[1]:
            waiting.remove(client)
            late += time.perf_counter() - start > 0.9
    for client in clients:
        client.close()
    server.shutdown()
    server.server_close()
    return late


shipped, wide = slow_connects(http.server.ThreadingHTTPServer), slow_connects(Wide)
print(f"Python {platform.python_version()}: connects over 0.9 s: {shipped} of 50 as shipped, {wide} of 50 with a queue of 128")
if not (shipped >= 20 and wide == 0):
    raise SystemExit("CHANGED: the queue has more than five places")
PY
