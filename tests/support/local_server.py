"""An HTTP server of ours on a free port, for the length of a test."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # users of a load connect at once


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], **attributes: object) -> Iterator[int]:
    """Serve on 127.0.0.1 by a handler that has these attributes; give the port."""
    server = _Server(("127.0.0.1", 0), type("Bound", (handler,), attributes))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


class Dripping(BaseHTTPRequestHandler):
    """Sends a byte of its answer five times per second, and never reaches the end: no single read takes long."""

    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b"[")
                time.sleep(0.2)

    do_POST = do_GET  # noqa: N815 - the names of http.server

    def log_message(self, *_: object) -> None:
        pass
