"""Records what JMeter sends: as the server of its requests, and as the proxy through which it reaches every host.

As a proxy it answers requests to any host itself, also encrypted ones, so nothing leaves this machine.
"""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from bench.plans.plan_answers import Answer, Answers
from bench.plans.plan_server import PlanHandler, serving
from harness.base.errors import UsageError

# A path with this part redirects to the path without it.
_MOVED = "/moved/"


@dataclass(frozen=True)
class Received:
    """A request as it arrived; `origin` is scheme://host:port that it was sent to, `target` its path with the query."""

    origin: str
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True)
class Capture:
    """A capturing server: its address, and the requests so far."""

    address: str
    received: list[Received]


@contextmanager
def capturing(answers: Answers, certificate: Path) -> Iterator[Capture]:
    """Serve and record on a free port until the block ends; `certificate` is a PEM file with its key."""
    received: list[Received] = []
    handler = type("CaptureHandler", (_Handler,), {"log": received, "certificate": certificate})
    with serving(answers, handler) as address:
        yield Capture(address, received)


def make_certificate(path: Path) -> Path:
    """Write a certificate of this moment with its key; JMeter trusts every certificate. UsageError without OpenSSL."""
    if not shutil.which("openssl"):
        raise UsageError("openssl is not installed", "install it: encrypted requests are recorded with its certificate")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=capture"]
    subprocess.run([*command, "-keyout", str(path), "-out", f"{path}.crt"], check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


class _Handler(PlanHandler):
    log: list[Received]
    certificate: Path
    # The address in a CONNECT, of the requests that follow on the connection.
    tunnel = ""

    def do_CONNECT(self) -> None:  # noqa: N802
        """Become the server to which a tunnel was requested."""
        self.tunnel = f"https://{self.path}"
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        self.wfile.flush()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb", -1)
        self.wfile = self.connection.makefile("wb", 0)
        self.close_connection = False

    @property
    def _is_of_jmeter(self) -> bool:
        return "User-Agent" in self.headers

    def parse_request(self) -> bool:
        """Read a request; one to a proxy begins with the whole address."""
        if not super().parse_request():
            return False
        self.origin = self.tunnel or f"http://{self.headers.get('Host', '')}"
        if "://" in self.path.partition("?")[0]:
            parts = urlsplit(self.path)
            self.origin = f"{parts.scheme}://{parts.netloc}"
            self.path = self.path[len(self.origin) :] or "/"
        return True

    def answer(self, body: str) -> Answer:
        """Return the response that the plan expects; a question whether the target answers gets an empty one."""
        if not self._is_of_jmeter:
            return Answer(HTTPStatus.OK, (), "", "")
        if _MOVED in self.path:
            return Answer(HTTPStatus.FOUND, (("Location", self.path.replace(_MOVED, "/")),), "", "")
        return super().answer(body)

    def received(self, body: bytes) -> None:
        """Record a request."""
        if not self._is_of_jmeter:
            return
        headers = tuple((name, value) for name, value in self.headers.items())
        self.log.append(Received(self.origin, self.command, self.path, headers, body))
