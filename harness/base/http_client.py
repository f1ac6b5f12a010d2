"""Sends HTTP requests without following redirects, and repeats what fails for a moment."""

from __future__ import annotations

import http.client
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from email.message import Message
from typing import NamedTuple, TypeVar

from harness.base.errors import ServiceError
from harness.base.log import Log

T = TypeVar("T")

# Waits between attempts when a server fails or does not answer. It may request longer ones.
_WAITS_S = (0.5, 1.0, 2.0)
_LONGEST_WAIT_S = 60.0
_REASON_MOST = 200
# A page of 100 comments of the largest size has 6.5 MB.
_ANSWER_MOST = 16 * 2**20
_REFUSAL_MOST = 64 * 2**10
_READS_MOST, _REFUSAL_MOST_S = 4, 10.0
_SPACES = re.compile(r"[\x00-\x20\x7f]+")


class BusyError(ServiceError):
    """The server fails, does not answer or limits the rate: the same request can succeed after `wait_s` seconds.

    `wait_s` is None when the server does not say how long.
    """

    def __init__(self, what: str, todo: str, wait_s: float | None = None) -> None:
        super().__init__(what, todo)
        self.wait_s = wait_s


class NoAnswerError(Exception):
    """No server answered; the text is why."""


class Response(NamedTuple):
    """The response to a request."""

    body: bytes
    headers: Message


def within(limit_s: float, action: Callable[[], T]) -> T:
    """Return what an action returns. TimeoutError after `limit_s`, while another thread waits on.

    A server that sends a byte now and then never reaches the limit of a single read.
    """
    done = list[T]()
    failed = list[Exception]()

    def work() -> None:
        try:
            done.append(action())
        except Exception as error:  # noqa: BLE001 - it is raised below
            failed.append(error)

    thread = threading.Thread(target=work, name="HTTP", daemon=True)
    thread.start()
    thread.join(limit_s)
    for error in failed:
        raise error
    if not done:
        raise TimeoutError(f"its answer is not complete after {limit_s:g} s")
    return done[0]


def send(request: urllib.request.Request, timeout_s: float) -> Response:
    """Return the response to a request; each read waits at most `timeout_s`, all of them _READS_MOST times that.

    urllib's HTTPError for a code of 300 or more, since no redirect is followed; NoAnswerError without an answer.
    """
    request.add_header("User-Agent", "load-test-harness")

    def answer() -> Response:
        with urllib.request.build_opener(NoRedirect).open(request, timeout=timeout_s) as response:
            body = response.read(_ANSWER_MOST + 1)
            if len(body) > _ANSWER_MOST:
                raise NoAnswerError(f"its answer has more than {_ANSWER_MOST // 2**20} MB")
            return Response(body, response.headers)

    try:
        return within(_READS_MOST * timeout_s, answer)
    except urllib.error.HTTPError:
        raise
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswerError(str(getattr(error, "reason", "") or error) or type(error).__name__) from None


def refusal_body(error: urllib.error.HTTPError) -> bytes:
    """Return the beginning of the body of a refusal; nothing when it does not arrive."""
    try:
        return within(_REFUSAL_MOST_S, lambda: error.read(_REFUSAL_MOST))
    except (OSError, http.client.HTTPException):
        return b""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Turns redirects into errors: urllib would send headers with a token to any server that an answer names."""

    def redirect_request(self, *_: object) -> None:
        """Refuse it."""


def short(text: str) -> str:
    """Return the beginning of a reason that a server gave, on one line."""
    return _SPACES.sub(" ", text).strip()[:_REASON_MOST]


def retried(
    action: Callable[[], T],
    log: Log,
    pause: Callable[[float], None] = time.sleep,
    longest_wait_s: float = _LONGEST_WAIT_S,
) -> T:
    """Return what the action returns. It is repeated three times while the server is busy.

    It is not repeated when the server requests a longer wait than `longest_wait_s`.
    """
    for wait_s in _WAITS_S:
        try:
            return action()
        except BusyError as error:
            pause_s = wait_s if error.wait_s is None else error.wait_s
            if pause_s > longest_wait_s:
                raise
            log(f"{error.what}; next attempt in {pause_s:.3g} s")
            pause(pause_s)
    return action()


def retry_after_s(headers: Mapping[str, str] | Message) -> float | None:
    """Return the seconds that a response requests to wait; None when it does not, or names a date."""
    text = headers.get("Retry-After") or ""
    return float(text) if text.isdecimal() else None
