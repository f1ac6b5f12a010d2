"""A proxy before a server that makes of a request what goes wrong on the way: errors, cut connections, other bytes."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import threading
from dataclasses import dataclass, field
from urllib.parse import urlsplit

FORBIDDEN = (403, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
SERVER_ERROR = (503, b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate</Message></Error>")
# What else may happen to a request or to its answer.
CUT, CORRUPT, CUT_ANSWER, HOLD = "cut", "corrupt", "cut answer", "hold"


@dataclass
class Fault:
    """What becomes of the first `times` requests of this method whose path and query have `part` in them."""

    method: str
    part: str
    what: object
    times: int = 1
    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)


class Proxy:
    """`address` is where it listens; `seen` are method and path of all requests, `answered` of those that ended."""

    def __init__(self, target: str) -> None:
        self.faults: list[Fault] = []
        self.seen: list[tuple[str, str]] = []
        self.answered: list[tuple[str, str]] = []
        self._target = urlsplit(target)
        self._lock = threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                with contextlib.suppress(ConnectionError):
                    super().handle_one_request()

            def _pass_on(self) -> None:
                proxy.handle(self)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def puts(self, part: str = "") -> int:
        """Return how many requests to store something had `part` in their path."""
        return sum(method == "PUT" and part in path for method, path in self.seen)

    def add(self, method: str, part: str, what: object, times: int = 1) -> Fault:
        """Add a fault and return it."""
        self.faults.append(Fault(method, part, what, times))
        return self.faults[-1]

    def handle(self, request: http.server.BaseHTTPRequestHandler) -> None:
        """Pass a request on, or do what its fault is."""
        fault = self._fault(request)
        length = int(request.headers.get("Content-Length", 0))
        if fault and fault.what == CUT:
            request.rfile.read(length // 2)
            request.close_connection = True
            request.connection.close()
            return
        body = request.rfile.read(length)
        if fault and fault.what == HOLD:
            fault.reached.set()
            fault.released.wait(30)
        if fault and fault.what == CORRUPT:
            body = bytes([body[0] ^ 1]) + body[1:]
        if fault and isinstance(fault.what, tuple):
            status, text = fault.what
            self._answer(request, status, {"Content-Type": "application/xml"}, text)
            return
        with contextlib.closing(http.client.HTTPConnection(self._target.hostname, self._target.port)) as connection:
            connection.request(request.command, request.path, body, dict(request.headers))
            answer = connection.getresponse()
            headers = {name: value for name, value in answer.getheaders() if name.lower() != "connection"}
            text = answer.read()
        is_cut = bool(fault and fault.what == CUT_ANSWER)
        self._answer(request, answer.status, headers, text, is_cut)

    def _answer(
        self,
        request: http.server.BaseHTTPRequestHandler,
        status: int,
        headers: dict[str, str],
        body: bytes,
        is_cut: bool = False,
    ) -> None:
        request.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("transfer-encoding", "content-length"):
                request.send_header(name, value)
        length = headers.get("Content-Length", str(len(body))) if request.command == "HEAD" else str(len(body))
        request.send_header("Content-Length", length)
        request.end_headers()
        request.wfile.write(body[: len(body) // 2] if is_cut else body)
        self.answered.append((request.command, request.path))
        if is_cut:
            request.wfile.flush()
            request.close_connection = True

    def _fault(self, request: http.server.BaseHTTPRequestHandler) -> Fault | None:
        with self._lock:
            self.seen.append((request.command, request.path))
            for fault in self.faults:
                if fault.times and fault.method == request.command and fault.part in request.path:
                    fault.times -= 1
                    return fault
        return None

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
