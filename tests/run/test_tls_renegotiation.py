"""A server that negotiates TLS again in the middle of a response: each sampler gets the whole response."""

import csv
import fcntl
import socket
import struct
import subprocess
import termios
import threading

import pytest

from harness.base.install import toolchain
from harness.base.ports import free_port
from harness.run.jmeter.connections import sampler_option
from tests.support.agent_runs import Agent, group, tree
from tests.support.off_host import flag, host, request, text
from tests.support.processes import wait_for
from tests.support.sampler_plans import bad_certificate

pytestmark = pytest.mark.real
# The commands of openssl's server are lines; R asks its client for another handshake.
ANSWER = (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello\n", b"R\n", b"end\n")


def serve(server, again: int, handshakes: list[bytes]):
    """Answer each request, with so many handshakes within each response."""
    line = b""
    while line := server.stdout.readline():
        handshakes += [line] if line.startswith(b"SSL_do_handshake -> 1") else []
        if line == b"\r\n":  # the end of a request without a body
            head, renegotiate, end = ANSWER
            for part in (head, *[renegotiate] * again, end):
                server.stdin.write(part)
                server.stdin.flush()
                wait_for(lambda: unread_bytes(server.stdin) == 0)  # it must begin a read to be a command


def unread_bytes(pipe) -> int:
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(
    ("is_lean", "again"),
    [
        pytest.param(False, 2, marks=pytest.mark.counterpart),
        (True, 1),
        pytest.param(False, 1, marks=pytest.mark.counterpart),
        pytest.param(True, 2, marks=pytest.mark.counterpart),
    ],
)
def test_a_response_in_which_tls_is_negotiated_again_is_whole(tmp_path, is_lean, again):
    port, certificate = free_port(), bad_certificate(tmp_path)
    command = [
        "openssl",
        "s_server",
        "-tls1_2",
        "-accept",
        f"127.0.0.1:{port}",
        "-cert",
        certificate,
        "-key",
        certificate,
    ]
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=(tmp_path / "server.err").open("wb")
    )
    handshakes: list[bytes] = []
    threading.Thread(target=serve, args=(server, again, handshakes), daemon=True).start()
    try:
        wait_for(lambda: is_open(port))
        props = [host("127.0.0.1"), text("HTTPSampler.port", str(port)), text("HTTPSampler.protocol", "https")]
        props += [flag("HTTPSampler.use_keepalive"), text("HTTPSampler.response_timeout", "20000")]
        options = sampler_option(toolchain.ensure_sampler(toolchain.ensure_jmeter()), is_lean=is_lean)
        plan = tree(group("user", request(*props, name="A", path="/a")))
        Agent(tmp_path / "run", plan, java=options).ended()
    finally:
        server.kill()
        server.wait()
    with (tmp_path / "run" / "samples.jtl").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["responseCode"], row["success"]) for row in rows] == [("200", "true")]
    wait_for(lambda: len(handshakes) >= again)  # the thread may still wait, or read what the server printed
    assert len(handshakes) == again
