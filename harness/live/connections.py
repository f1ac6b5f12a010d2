"""A server whose clients cannot use up the file descriptors of the run: few connections, and none without a request."""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

# A page has few viewers, and a run needs its descriptors for the telemetry.
_CONNECTIONS_MOST = 64
_CONNECTIONS_LEAST = 4
_SHARE_OF_DESCRIPTORS = 8
# A browser sends its request at once.
_REQUEST_S = 3.0
_CLOSED_S = 1.0
# How long the end of a run waits at most for the thread of a server.
_POLL_S = 0.05
_FULL = b"HTTP/1.0 503 Service Unavailable\r\nContent-Type: text/plain\r\n\r\nToo many viewers.\n"


def most_connections(descriptor_limit: int) -> int:
    """Return how many connections a server may have in a process with this limit of descriptors."""
    if descriptor_limit == resource.RLIM_INFINITY:
        return _CONNECTIONS_MOST
    return max(_CONNECTIONS_LEAST, min(_CONNECTIONS_MOST, descriptor_limit // _SHARE_OF_DESCRIPTORS))


class LimitedServer(ThreadingTCPServer):
    """A server that closes clients until it has let them in: after 3 s, or when others need the place.

    When all its clients are let in, the next one is told that there are too many. OSError when the address cannot be
    used.
    """

    daemon_threads = True
    allow_reuse_address = True
    # Waiting clients cost no descriptor, and one that finds no place in the queue loses a second.
    request_queue_size = 128

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._most = most_connections(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        self._closed = threading.Condition()
        # Every open connection; the time when it began until it is let in, then None.
        self._connections: dict[socket.socket, float | None] = {}
        super().__init__((host, port), handler)

    def start(self, name: str) -> None:
        """Serve in a thread of this name."""
        threading.Thread(target=self.serve_forever, args=(_POLL_S,), name=name, daemon=True).start()

    def end(self) -> None:
        """Stop to serve."""
        self.shutdown()
        self.server_close()

    def let_in(self, connection: socket.socket) -> None:
        """Keep a connection: its request is complete and allowed."""
        with self._closed:
            self._connections[connection] = None

    def verify_request(self, request: Any, client_address: object) -> bool:  # noqa: ARG002 - as in socketserver
        """Return whether a new connection has a place; the one that waits for longest makes room."""
        with self._closed:
            if len(self._connections) >= self._most:
                _hang_up(self._waiting()[:1])
                self._closed.wait_for(lambda: len(self._connections) < self._most, _CLOSED_S if self._waiting() else 0)
            if len(self._connections) < self._most:
                self._connections[request] = time.monotonic()
                return True
        with contextlib.suppress(OSError):
            request.send(_FULL, socket.MSG_DONTWAIT)
        return False

    def service_actions(self) -> None:
        """Close the connections whose request is overdue; called many times a second."""
        with self._closed:
            oldest_s = time.monotonic() - _REQUEST_S
            _hang_up([each for each in self._waiting() if (self._connections[each] or 0.0) < oldest_s])

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, and count it no more."""
        super().shutdown_request(request)
        with self._closed:
            self._connections.pop(request, None)
            self._closed.notify_all()

    def handle_error(self, request: object, client_address: object) -> None:
        """Write nothing: the terminal belongs to the run, and a client that is gone is no error of it."""

    def _waiting(self) -> list[socket.socket]:
        """Return the connections that are not let in, the oldest first."""
        return [each for each, began_s in self._connections.items() if began_s is not None]


def _hang_up(connections: list[socket.socket]) -> None:
    """End connections; the thread of each, which waits for its client, then closes it."""
    for connection in connections:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
