"""Serve the live page of a run on this machine: the page, its events, and the button that stops the run."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harness.base.ports import LOOPBACK

# A viewer that is gone is noticed at the latest after so long.
_BEAT_S = 5.0
_END_S = 2.0
# Makes a message for a viewer from the number of the points that it has; `from` is the number of its first point.
MessageOf = Callable[[int], Mapping[str, Any]]


class LiveServer:
    """A server on loopback. Each viewer gets the points that it lacks, so a viewer that reconnects misses nothing.

    Only requests to the address itself are answered, and a stop needs the token of the page: no other page that is
    open in the browser can read the run or end it. OSError when the port is taken.
    """

    def __init__(self, port: int, message_of: MessageOf, stop: Callable[[], None]) -> None:
        self.token = secrets.token_urlsafe(16)
        self.page = b""
        self.viewer_count = 0
        self.message_of, self.stop = message_of, stop
        self.changed = threading.Condition()
        self.version = 0
        self.is_ended = False
        self._server = _Server((LOOPBACK, port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, name="live", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port, also when any free one was wanted."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.port}/"

    def publish(self) -> None:
        """Send the newest state to all viewers."""
        with self.changed:
            self.version += 1
            self.changed.notify_all()

    def end(self) -> None:
        """Send the last state, let the viewers take it, and stop to serve."""
        with self.changed:
            self.is_ended = True
            self.version += 1
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.viewer_count == 0, _END_S)
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], live: LiveServer) -> None:
        self.live = live
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: the terminal belongs to the run."""

    def do_GET(self) -> None:
        """Answer with the page or with its events."""
        if not self._is_own():
            self.send_error(403)
        elif self.path == "/":
            self._answer("text/html; charset=utf-8", self.server.live.page)
        elif self.path.startswith("/events"):
            self._events()
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        """Stop the run."""
        live = self.server.live
        given = self.headers.get("X-Live-Token", "")
        if self.path != "/stop" or not self._is_own() or not hmac.compare_digest(given, live.token):
            self.send_error(403)
            return
        live.stop()
        self._answer("text/plain", b"stopping")

    def _is_own(self) -> bool:
        """Return whether the request names this address: another name may be a page of somebody else."""
        port = self.server.live.port
        return self.headers.get("Host") in (f"{LOOPBACK}:{port}", f"localhost:{port}")

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def _events(self) -> None:
        """Send events until the run ends or the viewer is gone; the id of an event is the number of points sent."""
        live = self.server.live
        last = self.headers.get("Last-Event-ID", "")
        sent_count = int(last) if last.isdecimal() else 0
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        seen = -1
        with live.changed:
            live.viewer_count += 1
        try:
            is_last = False
            while not is_last:
                with live.changed:
                    live.changed.wait_for(lambda: live.version != seen, _BEAT_S)  # noqa: B023 - called at once
                    is_news, seen, is_last = live.version != seen, live.version, live.is_ended
                    message = live.message_of(sent_count) if is_news else None
                if message is None:
                    self.wfile.write(b": beat\n\n")
                else:
                    sent_count = message["from"] + len(message["points"])
                    text = json.dumps(message, separators=(",", ":"), allow_nan=False)
                    self.wfile.write(f"id: {sent_count}\ndata: {text}\n\n".encode())
                self.wfile.flush()
        except OSError:
            pass  # the viewer is gone
        finally:
            with live.changed:
                live.viewer_count -= 1
                live.changed.notify_all()
