"""Serves on 127.0.0.1 what a test plan expects: a stand-in for the system that the plan was written for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bench.plans.plan_answers import Answer, Answers

# A response takes this long, so that a load without think time does not fill the machine.
LATENCY_S = 0.03


@contextmanager
def serving(answers: Answers, handler: type[PlanHandler] | None = None) -> Iterator[str]:
    """Serve the answers on a free port; yield the address. A subclass of the handler may do more with the requests."""
    kind = type("Handler", (handler or PlanHandler,), {"answers": answers})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class PlanHandler(BaseHTTPRequestHandler):
    """Answers each request as the plan expects."""

    answers: Answers
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _respond(self) -> None:
        sent_body = self._body()
        self.received(sent_body)
        body = sent_body.decode("utf-8", errors="replace")
        time.sleep(LATENCY_S)
        answer = self.answer(body)
        sent = answer.body.encode("utf-8")
        lines = [f"HTTP/1.1 {answer.code} {HTTPStatus(answer.code).phrase}", "Server: stand-in"]
        lines += [f"{name.partition(' ')[0]}: {value}" for name, value in answer.headers]
        if answer.content_type:
            lines.append(f"Content-Type: {answer.content_type}; charset=utf-8")
        if answer.code != HTTPStatus.NO_CONTENT:
            lines.append(f"Content-Length: {len(sent)}")
        head = "\r\n".join(lines).encode("latin-1", errors="replace") + b"\r\n\r\n"
        self.wfile.write(head if self.command == "HEAD" else head + sent)

    def answer(self, body: str) -> Answer:
        """Return the response that the plan expects."""
        return self.answers.answer(self.command, self.path, body)

    def received(self, body: bytes) -> None:
        """Do nothing more with a request."""

    def _body(self) -> bytes:
        """Return the body of the request, of either kind of length."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = b""
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            chunks += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return chunks

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_HEAD = _respond  # noqa: N815

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""
