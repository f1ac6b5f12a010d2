"""The servers of tests end with their block: one that goes on takes the connections of a later server."""

import os
import signal
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler
from urllib.request import urlopen

import pytest

from harness.base.ports import free_port
from tests.support.fault_proxy import Proxy
from tests.support.hostile_server import hostile_server
from tests.support.local_server import serving


class Page(BaseHTTPRequestHandler):
    """A page of one word."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"page")

    def log_message(self, *_):
        pass


def hostile(certificate=None):
    with hostile_server(certificate) as server:
        time.sleep(0.05)  # its thread waits for a connection
    return server.address[1]


def served():
    with serving(Page) as port:
        return port


def after_a_failure():
    with pytest.raises(ZeroDivisionError), serving(Page) as port:
        raise ZeroDivisionError
    return port


def proxied():
    proxy = Proxy(f"http://127.0.0.1:{free_port()}")
    proxy.close()
    return int(proxy.address.rpartition(":")[2])


@pytest.mark.parametrize("server", [hostile, served, after_a_failure, proxied])
def test_no_thread_of_a_server_outlives_its_block_and_nobody_listens(server):
    before = set(threading.enumerate())
    port = server()
    until_s = time.monotonic() + 2
    while (left := set(threading.enumerate()) - before) and time.monotonic() < until_s:
        time.sleep(0.01)
    assert left == set()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_a_later_server_gets_all_its_requests_although_the_process_was_stopped_and_continued():
    hostile()
    with serving(Page) as port:
        pid = os.getpid()
        stop = f"kill -{signal.SIGSTOP} {pid}; sleep 0.1; kill -{signal.SIGCONT} {pid}"
        subprocess.run(["bash", "-c", stop], check=True, timeout=10)
        for _ in range(20):
            with urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
                assert answer.read() == b"page"
