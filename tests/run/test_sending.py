"""How long the lean sampler writes a request while the server does not read."""

import socket
import threading
import time

import pytest

from harness.metrics import amounts
from harness.metrics.interval import IntervalMs
from tests.support.sampler_plans import Request, group_of, lean_option, plan_of, sampler_of, sides_of

pytestmark = pytest.mark.counterpart

LENGTH, HELD_S = 12_000_000, 0.5


def answer_late(server: socket.socket) -> None:
    """Begin to read the body of each request after a time, and answer."""
    while True:
        try:
            client, _ = server.accept()
        except OSError:
            return
        with client:
            received = client.recv(65_536)
            time.sleep(HELD_S if received.startswith(b"POST") else 0)
            left = LENGTH if received.startswith(b"POST") else 0
            left -= len(received.partition(b"\r\n\r\n")[2])
            while left > 0:
                left -= len(client.recv(1 << 20))
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")


def test_the_time_of_writing_is_known_of_a_request_that_the_server_does_not_read(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer_late, args=(server,), daemon=True).start()
        there = {"HTTPSampler.port": str(server.getsockname()[1])}
        requests = [
            Request("large", "/large", "POST", "x" * LENGTH, more=there),
            Request("small", "/small", more=there),
        ]
        plan = plan_of(group_of("all", "".join(map(sampler_of, requests))))
        (side,) = sides_of(tmp_path, plan, {"lean": lean_option()})
    assert [result.get("rc") for result in side.results] == ["200", "200"]
    with (tmp_path / "lean" / amounts.FILE_NAME).open(newline="") as lines:
        found = [one for one in amounts.amounts_of(lines, IntervalMs(0, 1 << 50)) if one.kind == amounts.WRITTEN]
    (large,) = (one for one in found if one.label == "large")
    elapsed_us = 1000 * int(next(result.get("t", "") for result in side.results if result.get("lb") == "large"))
    assert 0.9 * HELD_S * 1e6 < large.duration_us <= elapsed_us + 1000
    assert sum(one.duration_us for one in found if one.label == "small") < 50_000
