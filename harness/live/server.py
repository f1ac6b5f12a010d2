"""Serve a live page: the page, its events, and the button that stops the run."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from harness.base.ports import free_port
from harness.live.connections import LimitedServer
from harness.live.page_address import LiveAddress

# A viewer that is gone is noticed at the latest after so long.
_BEAT_S = 5.0
_END_S = 2.0
# Makes a message for a viewer from the number of the points that it has; `from` is the number of its first point.
MessageOf = Callable[[int], Mapping[str, Any]]


class LiveServer(LimitedServer):
    """A server at an address. Each viewer gets the points that it lacks, so a viewer that reconnects misses nothing.

    Only requests to the address itself and with its token are answered, and a stop also needs the token of the page: no
    other page that is open in the browser can read the run or end it. OSError when the address cannot be used.
    """

    def __init__(self, address: LiveAddress, message_of: MessageOf, stop: Callable[[], None]) -> None:
        self.address = address
        self.stop_token = secrets.token_urlsafe(16)
        self.page = b""
        self.viewer_count = 0
        self.message_of, self.stop = message_of, stop
        self.changed = threading.Condition()
        self.version = 0
        self.is_ended = False
        super().__init__(address.host, address.port or free_port(), _Handler)
        self.start("live")

    @property
    def port(self) -> int:
        """The port, also when any free one was requested."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """The address of the page."""
        return self.address.url(self.port)

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
        super().end()


class _Handler(BaseHTTPRequestHandler):
    server: LiveServer
    timeout = 30.0  # of one read or write: a viewer that takes nothing occupies no thread for longer

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: the terminal belongs to the run."""

    def do_GET(self) -> None:
        """Answer with the page or with its events."""
        path = urlsplit(self.path).path
        if not self._is_allowed():
            return
        if path == "/":
            self._answer("text/html; charset=utf-8", self.server.page)
        elif path == "/events":
            self._events()
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        """Stop the run."""
        if not self._is_allowed():
            return
        live = self.server
        given = self.headers.get("X-Live-Token", "")
        if urlsplit(self.path).path != "/stop" or not hmac.compare_digest(given.encode(), live.stop_token.encode()):
            self.send_error(403)
            return
        live.stop()
        self._answer("text/plain", b"stopping")

    def _is_allowed(self) -> bool:
        """Return whether a request has the name and the token of the address; refuse it if not."""
        live = self.server
        if not live.address.names(self.headers.get("Host", ""), live.port):
            self.send_error(403, explain="Open the page by the address that the command printed.")
            return False
        if not live.address.lets_in(parse_qs(urlsplit(self.path).query).get("token", [""])[0]):
            self.send_error(403, explain="The address has no ?token=, or a wrong one; the command printed it.")
            return False
        self.server.let_in(self.connection)
        return True

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")  # the address has the token
        self.send_header("X-Frame-Options", "DENY")  # no other page may cover the stop button
        self.end_headers()
        self.wfile.write(body)

    def _events(self) -> None:
        """Send events until the run ends or the viewer is gone; the id of an event is the number of points sent."""
        live = self.server
        last = self.headers.get("Last-Event-ID", "")
        sent_count = int(last) if last.isdecimal() else 0
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(b"retry: 1000\n\n")  # a browser that lost the connection tries again after so many ms
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
