"""The server of the live page: viewers that come, go and return, and who may stop the run."""

import http.client
import json
import socket
import threading

import pytest

from harness.live.page_address import LiveAddress
from harness.live.server import LiveServer
from tests.support.processes import becomes

TOKEN = "a-token-of-20-letter"


class Run:
    """A run with numbers for points; `stop_count` is how often it was stopped."""

    def __init__(self):
        self.points = []
        self.stop_count = 0

    def message(self, sent_count):
        return {"from": sent_count, "points": self.points[sent_count:], "now": None, "end": None}

    def stop(self):
        self.stop_count += 1


@pytest.fixture
def run():
    return Run()


@pytest.fixture
def server(run):
    served = LiveServer(LiveAddress(), run.message, run.stop)
    served.page = b"<p>live"
    yield served
    served.end()


class Viewer:
    """A viewer of the events; `last` is what it has already, which a browser that reconnects sends."""

    def __init__(self, server, last=None, path="/events"):
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        self._connection.request("GET", path, headers={"Last-Event-ID": last} if last else {})
        self.answer = self._connection.getresponse()

    def event(self):
        while not (line := self.answer.readline()).startswith(b"data:"):
            assert line, "the server closed the events"
        return json.loads(line.removeprefix(b"data:"))

    def close(self):
        self.answer.close()
        self._connection.close()


def answer_of(server, method, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def test_two_viewers_get_every_point_and_a_late_one_gets_those_before(server, run):
    first = Viewer(server)
    assert first.event()["points"] == []
    run.points.append(1)
    server.publish()
    assert first.event() == {"from": 0, "points": [1], "now": None, "end": None}
    second = Viewer(server)
    assert second.event()["points"] == [1]
    run.points.append(2)
    server.publish()
    assert first.event()["points"] == second.event()["points"] == [2]
    first.close()
    second.close()


def test_a_viewer_that_reconnects_gets_only_what_it_lacks(server, run):
    run.points += [1, 2, 3]
    viewer = Viewer(server, last="2")
    assert viewer.event() == {"from": 2, "points": [3], "now": None, "end": None}
    viewer.close()


def test_at_the_end_viewers_get_the_last_state_and_the_events_end(run):
    server = LiveServer(LiveAddress(), run.message, run.stop)
    viewer = Viewer(server)
    viewer.event()
    run.points.append(9)
    ending = threading.Thread(target=server.end)
    ending.start()
    assert viewer.event()["points"] == [9]
    assert viewer.answer.read() == b"\n"  # the end of the event, and nothing after it
    viewer.close()
    ending.join(5)
    assert not ending.is_alive()


def test_a_stop_needs_the_token_of_the_page(server, run):
    assert answer_of(server, "POST", "/stop")[0] == 403
    assert answer_of(server, "POST", "/stop", **{"X-Live-Token": "guess"})[0] == 403
    assert run.stop_count == 0
    assert answer_of(server, "POST", "/stop", **{"X-Live-Token": server.stop_token}) == (200, b"stopping")
    assert run.stop_count == 1


@pytest.mark.parametrize("path", ["/", "/events"])
def test_a_request_by_another_name_is_refused(server, path):
    assert answer_of(server, "GET", path, Host="evil.example")[0] == 403


def test_the_page_is_served_and_nothing_else(server):
    assert answer_of(server, "GET", "/") == (200, b"<p>live")
    assert answer_of(server, "GET", "/../run.json")[0] == 404


def test_a_taken_port_is_an_error_of_the_system(server, run):
    with pytest.raises(OSError, match="in use"):
        LiveServer(LiveAddress(port=server.port), run.message, run.stop)


def test_a_viewer_that_is_gone_is_not_counted(server, run):
    viewer = Viewer(server)
    viewer.event()
    assert server.viewer_count == 1
    viewer.close()

    def count():
        run.points.append(1)
        server.publish()
        return server.viewer_count

    becomes(count, 0)


@pytest.fixture
def guarded(run):
    """A server that only a token opens."""
    served = LiveServer(LiveAddress("127.0.0.1", 0, TOKEN), run.message, run.stop)
    served.page = b"<p>live"
    yield served
    served.end()


@pytest.mark.parametrize(
    "query", ["", "?token=", f"?token={TOKEN[:-1]}", "?token=%C3%A4", "?token=[", f"?tokens={TOKEN}"]
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/events"), ("POST", "/stop")])
def test_without_the_token_the_page_its_events_and_the_stop_are_refused(guarded, run, method, path, query):
    status, body = answer_of(guarded, method, path + query, **{"X-Live-Token": guarded.stop_token})
    assert (status, run.stop_count) == (403, 0)
    assert b"wrong one" in body
    assert TOKEN.encode() not in body


def test_with_the_token_the_page_its_events_and_the_stop_answer(guarded, run):
    assert answer_of(guarded, "GET", f"/?token={TOKEN}") == (200, b"<p>live")
    assert answer_of(guarded, "POST", f"/stop?token={TOKEN}", **{"X-Live-Token": guarded.stop_token})[0] == 200
    assert run.stop_count == 1
    viewer = Viewer(guarded, path=f"/events?token={TOKEN}")
    assert viewer.event()["points"] == []
    viewer.close()


def test_the_token_of_the_address_alone_stops_nothing_and_another_name_is_refused_with_it(guarded, run):
    assert answer_of(guarded, "POST", f"/stop?token={TOKEN}")[0] == 403
    assert answer_of(guarded, "GET", f"/?token={TOKEN}", Host="evil.example")[0] == 403
    assert run.stop_count == 0


def test_a_request_that_is_no_address_is_dropped_without_a_word(server, capfd):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(f"GET http://[x HTTP/1.0\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        assert connection.recv(100) == b""
    assert capfd.readouterr() == ("", "")
