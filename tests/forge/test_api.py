"""Rate limits and repetitions: how long a client waits, and when it gives up."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import ClassVar

import pytest

from harness.base.http_client import BusyError, NoAnswerError, refusal_body, retried, send
from harness.forge.api import limit_wait_s
from harness.forge.github import GitHub
from tests.support.forge_server import TOKEN, Forge, GitHubServer
from tests.support.local_server import Dripping, serving

NOW_S = 1_790_000_000.0
IN_A_MINUTE = str(int(NOW_S) + 60)


@pytest.mark.parametrize(
    ("code", "headers", "message", "expected_s"),
    [
        (403, {}, "Resource not accessible by integration", None),
        (403, {"X-RateLimit-Remaining": "12", "X-RateLimit-Reset": IN_A_MINUTE}, "Forbidden", None),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": IN_A_MINUTE}, "API rate limit exceeded", 60),
        (429, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW_S) - 5)}, "", 1),
        (429, {"RateLimit-Remaining": "0", "RateLimit-Reset": IN_A_MINUTE}, "", 60),  # GitLab
        (403, {"Retry-After": "30", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": IN_A_MINUTE}, "", 30),
        (403, {"X-RateLimit-Remaining": "4990"}, "You have exceeded a secondary rate limit.", 60),
        (429, {"Retry-After": "Sun, 22 Nov 2026 12:00:00 GMT"}, "", 60),
        (404, {"Retry-After": "30"}, "rate limit", None),
        (200, {}, "rate limit", None),
    ],
)
def test_the_wait_is_the_one_that_the_answer_names(
    code: int, headers: dict[str, str], message: str, expected_s: float | None
) -> None:
    assert limit_wait_s(code, headers, message, NOW_S) == expected_s


class Server:
    """Fails with these errors, then works."""

    def __init__(self, *waits_s: float | None) -> None:
        self.waits_s = list(waits_s)

    def __call__(self) -> str:
        if self.waits_s:
            raise BusyError("it fails", "repeat", self.waits_s.pop(0))
        return "done"


def test_a_request_to_a_busy_server_is_repeated_after_growing_or_named_waits() -> None:
    said: list[str] = []
    paused: list[float] = []
    assert retried(Server(None, 60, None), said.append, paused.append) == "done"
    assert paused == [0.5, 60, 2]
    assert said == [f"it fails; next attempt in {wait} s" for wait in ("0.5", "60", "2")]


def test_the_fourth_failure_and_a_wait_of_more_than_a_minute_are_errors() -> None:
    for waits_s, expected in (((None,) * 4, [0.5, 1, 2]), ((61,), []), ((None, 3600), [0.5])):
        paused: list[float] = []
        with pytest.raises(BusyError):
            retried(Server(*waits_s), str, paused.append)
        assert paused == expected


def test_a_server_that_is_down_is_busy() -> None:
    with serving(GitHubServer, forge=Forge()) as port:
        pass
    with pytest.raises(BusyError, match=f"127.0.0.1:{port} does not answer .*refused.*; repeat the command later"):
        GitHub("owner/name", TOKEN, f"http://127.0.0.1:{port}").find("12")


class Endless(BaseHTTPRequestHandler):
    """Answers with 64 MB, and counts what was taken."""

    status = 200
    taken: ClassVar[list[int]] = []

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.end_headers()
        with suppress(OSError):
            for _ in range(1024):
                self.wfile.write(b"x" * 65536)
                self.taken.append(65536)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(("status", "error"), [(200, NoAnswerError), (500, urllib.error.HTTPError)])
def test_an_endless_answer_is_read_up_to_a_limit(status, error):
    taken: list[int] = []
    with serving(Endless, status=status, taken=taken) as port:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/")
        with pytest.raises(error) as caught:
            send(request, 10)
        if status == 500:
            assert len(refusal_body(caught.value)) == 65536
            caught.value.close()
    assert sum(taken) < 32 * 2**20


@pytest.mark.real
@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setattr("harness.base.http_client._REFUSAL_MOST_S", 0.8)
    with serving(Dripping, status=status) as port:
        began_s = time.monotonic()
        with pytest.raises((NoAnswerError, urllib.error.HTTPError)) as caught:
            send(urllib.request.Request(f"http://127.0.0.1:{port}/"), 0.3)
        if isinstance(caught.value, urllib.error.HTTPError):
            assert refusal_body(caught.value) == b""
        else:
            assert str(caught.value) == "its answer is not complete after 1.2 s"
        assert time.monotonic() - began_s < 3
