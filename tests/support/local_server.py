"""An HTTP server of ours on a free port, for the length of a test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # users of a load connect at once


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], **attributes: object) -> Iterator[int]:
    """Serve on 127.0.0.1 by a handler that has these attributes; give the port."""
    server = _Server(("127.0.0.1", 0), type("Bound", (handler,), attributes))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
