"""The browser of the tests of the live page, a connection that can be cut, and a run that a receiver follows."""

import contextlib
import socket
import socketserver
import threading
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from harness.live.otlp.receiver import receiver_at
from harness.live.otlp.watcher import OtlpRuns
from harness.run.directory import RunDirectory
from tests.support.browser import browser
from tests.support.factories import record

__all__ = ["browser", "cable", "opened"]


class Cable(socketserver.ThreadingTCPServer):
    """A proxy of a browser, which passes everything on unless it is cut: then no connection goes on or begins."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Passing)
        self.is_cut = False
        self.connections = []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def cut(self):
        self.is_cut = True
        for connection in self.connections:
            with contextlib.suppress(OSError):  # it has ended
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request, client_address):
        """Print nothing: a cut connection is no error."""


class Passing(socketserver.StreamRequestHandler):
    """A connection with one request without a body, which names the address in full."""

    def handle(self):
        head = b""
        while not self.server.is_cut and (line := self.rfile.readline()):
            head += line
            if line == b"\r\n":
                address = urlsplit(head.split()[1].decode())
                with socket.create_connection((address.hostname, address.port)) as server:
                    self.server.connections += [self.request, server]
                    server.sendall(head)
                    while data := server.recv(65_536):
                        self.request.sendall(data)
                return


@pytest.fixture(scope="module")
def cable():
    with Cable() as opened:
        yield opened
        opened.shutdown()


@pytest.fixture(scope="module")
def opened(browser):
    """Open the page of an address, by a proxy if there is one; it fails on any error and any request elsewhere."""
    wrong, contexts = [], []

    def page_of(url, proxy=None):
        way = {"proxy": {"server": proxy}} if proxy else {}
        context = browser.new_context(viewport={"width": 1300, "height": 900}, **way)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda sent: None if sent.url.startswith((url, "data:")) else wrong.append(sent.url))
        page.goto(url)
        return page

    yield page_of
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def directory(tmp_path):
    """The directory of a run that has ended."""
    found = RunDirectory(tmp_path / "tiny" / "run-01_1")
    found.path.mkdir(parents=True)
    found.write_run(record())
    return found


@pytest.fixture
def followed(directory, monkeypatch):
    """Follow a run with a receiver; return its lines, and its record afterwards."""
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    monkeypatch.delenv("OTEL_RESOURCE_ATTRIBUTES", raising=False)

    def run(url, *seconds, hidden=()):
        lines = []
        plan = SimpleNamespace(once_labels=("Log in",))
        spec = SimpleNamespace(plan=plan, hidden=hidden, is_traced=True, profile=SimpleNamespace(name="local"))
        with OtlpRuns(receiver_at(url), lines.append) as otlp:
            otlp.begin(directory, spec)
            for passed_s, samples in seconds:
                otlp.add(samples, passed_s)
            otlp.finish()
        return lines, directory.read_run()

    return run
