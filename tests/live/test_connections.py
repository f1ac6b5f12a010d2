"""Clients that hold connections open take neither the descriptors nor the page from the run."""

import http.client
import resource
import socket
import subprocess
import sys
import time

import pytest

from harness.live.connections import most_connections
from tests.support.paths import ROOT
from tests.support.processes import becomes

# Serves a page (with a token) or metrics, and answers each line with the number of descriptors and of lines of 50 files
# that it could read.
SERVING = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
if sys.argv[1] == "page":
    from harness.live.page_address import LiveAddress
    from harness.live.server import LiveServer
    message = lambda sent: {"from": sent, "points": [], "now": None, "end": None}
    served = LiveServer(LiveAddress("127.0.0.1", 0, "a-token-of-20-letter"), message, lambda: None)
    served.page = b"<p>live"
    port = served.port
else:
    from urllib.parse import urlsplit
    from harness.live.page_address import Address
    from harness.live.metrics_collector import RunsCollector
    from harness.live.metrics_endpoint import MetricsServer
    port = urlsplit(MetricsServer(Address("127.0.0.1", 0), RunsCollector()).url).port
print(port, flush=True)
for _ in sys.stdin:
    open_count = len(os.listdir("/proc/self/fd"))
    files = [open("/proc/self/stat") for _ in range(50)]
    print(open_count, sum(1 for file in files for _ in file), flush=True)
"""


class Serving:
    """A server in a process with 256 descriptors; `clients` are its open connections."""

    def __init__(self, what):
        command = [sys.executable, "-c", SERVING, what]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.port = int(self._process.stdout.readline())
        self.clients = []

    def connect(self, sent):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        client.sendall(sent)
        self.clients.append(client)
        return client

    def counts(self):
        """The descriptors in use, and the lines of 50 files that the process opened beside them."""
        self._process.stdin.write("\n")
        open_count, line_count = self._process.stdout.readline().split()
        return int(open_count), int(line_count)

    def status(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", path)
        status = connection.getresponse().status
        connection.close()
        return status

    def close(self):
        for client in self.clients:
            client.close()
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(params=["page", "metrics"])
def serving(request):
    server = Serving(request.param)
    yield server, "/?token=a-token-of-20-letter" if request.param == "page" else "/metrics"
    server.close()


@pytest.mark.real
def test_half_open_clients_leave_the_run_its_descriptors_and_the_viewer_its_page(serving):
    server, path = serving
    for _ in range(400):
        server.connect(b"GET /events HT")
    open_count, line_count = server.counts()
    assert open_count < 60
    assert line_count == 50
    assert server.status(path) == 200


@pytest.mark.real
@pytest.mark.parametrize("serving", ["page"], indirect=True)
def test_a_client_that_never_finishes_its_request_is_closed(serving):
    server, _ = serving
    client = server.connect(b"GET / HTTP/1.1\r\n")
    client.settimeout(1)
    began_s = time.monotonic()
    while True:
        try:
            client.sendall(b"X-Slow: 1\r\n")  # each read of the server gets something in time
            if client.recv(100) == b"":
                break
        except TimeoutError:
            continue
        except ConnectionError:
            break
    assert time.monotonic() - began_s < 8


@pytest.mark.real
def test_viewers_with_the_token_are_limited_too_and_the_next_one_is_told():
    server = Serving("page")
    events = b"GET /events?token=a-token-of-20-letter HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.port
    allowed = most_connections(256)
    for _ in range(allowed):
        assert server.connect(events).recv(12) == b"HTTP/1.0 200"
    assert server.connect(b"").recv(12) == b"HTTP/1.0 503"
    assert server.counts()[1] == 50
    server.clients[0].close()
    becomes(lambda: server.status("/?token=a-token-of-20-letter"), 200)
    server.close()


@pytest.mark.parametrize(
    ("limit", "count"), [(64, 8), (256, 32), (1024, 64), (1_000_000, 64), (resource.RLIM_INFINITY, 64), (20, 4)]
)
def test_the_number_of_connections_is_far_below_the_limit_of_descriptors(limit, count):
    assert most_connections(limit) == count
