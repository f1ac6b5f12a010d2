"""Calls the HTTP API of GitHub or GitLab: JSON, pages, rate limits. Errors have one line and never show the token."""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from enum import Enum
from itertools import count
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from harness.base import records, strict_json
from harness.base.errors import HarnessError, ServiceError, UsageError
from harness.base.http_client import BusyError, NoAnswerError, refusal_body, retry_after_s, send, short
from harness.base.spellings import Spellings

T = TypeVar("T")

PAGE_SIZE = 100
_TIMEOUT_S = 30
# docs.github.com, "Rate limits for the REST API": at least a minute when an answer names no time.
_UNNAMED_WAIT_S = 60.0
_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class PullRequest:
    """An open pull request (GitLab: merge request); `sha` is its newest commit."""

    number: int
    sha: str
    url: str


@dataclass(frozen=True)
class Comment:
    """A comment on a pull request, with its text in Markdown."""

    number: int
    body: str
    url: str


class State(Enum):
    """The state of a commit's status."""

    SUCCESS = "success"
    FAILURE = "failure"
    ERROR = "error"


@dataclass(frozen=True)
class Status:
    """The status of a commit: `context` is its name, `link` the address behind it, or empty."""

    context: str
    state: State
    text: str
    link: str = ""


class Answer(NamedTuple):
    """An answer of the server: its JSON, and its headers."""

    data: Any
    headers: Message


@dataclass(frozen=True)
class Api:
    """An HTTP API with JSON: its address, its token, and the header that carries the token after `scheme`.

    `token_name` is the environment variable of the token, `rights` what the token must be allowed to do. Redirects are
    not followed: the token is sent to no other server.
    """

    address: str
    token_name: str
    token: str = field(repr=False)
    header: str
    scheme: str
    rights: str

    def __post_init__(self) -> None:
        if urlsplit(self.address).scheme not in ("http", "https"):
            raise UsageError(f"{self.address}: not an http address", "correct the address of the API")
        if not _TOKEN.fullmatch(self.token):
            what = f"{self.token_name} is empty or has a character that no token has, such as a space"
            raise UsageError(what, "set it again")

    @property
    def _host(self) -> str:
        return urlsplit(self.address).netloc.rpartition("@")[2]

    def read(self, kind: type[T], method: str, path: str, data: Mapping[str, object] | None = None) -> T:
        """Return the answer as a dataclass. `path` is added to the address of the API, or is an address itself."""
        return self._built(kind, path, self.send(method, path, data).data)

    def pages(self, kind: type[T], path: str) -> Iterator[T]:
        """Yield the items of a list, page by page. `path` has a query."""
        for page in count(1):
            answer = self.send("GET", f"{path}&per_page={PAGE_SIZE}&page={page}")
            if not isinstance(answer.data, list):
                raise self._strange(path, "not a list")
            for item in answer.data:
                yield self._built(kind, path, item)
            if 'rel="next"' not in answer.headers.get("Link", ""):
                return

    def masked(self, text: str) -> str:
        """Return a text with ••• in place of the token."""
        return Spellings((self.token,)).masked(text.encode(errors="replace")).decode(errors="replace")

    def send(self, method: str, path: str, data: Mapping[str, object] | None = None) -> Answer:
        """Send a request and return the answer; HarnessError for a refusal."""
        address = path if "://" in path else self.address.rstrip("/") + path
        request = urllib.request.Request(address, None if data is None else json.dumps(data).encode(), method=method)
        request.add_header("Content-Type", "application/json")
        request.add_header(self.header, f"{self.scheme}{self.token}")
        try:
            response = send(request, _TIMEOUT_S)
            return Answer(strict_json.parse(response.body or b"null"), response.headers)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(method, path, error) from None
        except NoAnswerError as error:
            what = f"{self._host} does not answer ({self._short(str(error))})"
            raise BusyError(what, "repeat the command later") from None
        except ValueError:
            raise self._strange(path, "not JSON") from None

    def _built(self, kind: type[T], path: str, data: object) -> T:
        try:
            return records.build(kind, data)
        except ValueError as error:
            raise self._strange(path, str(error)) from None

    def _strange(self, path: str, reason: str) -> ServiceError:
        what = f"{self._host}{urlsplit(path).path}: the answer is not that of this API ({self._short(reason)})"
        return ServiceError(what, f"is {self.address} its address?")

    def _refusal(self, method: str, path: str, error: urllib.error.HTTPError) -> HarnessError:
        message = _message_of(error)
        name, where = self.token_name, f"{self._host}{urlsplit(path).path}"
        now_s = time.time()
        limit_s = limit_wait_s(error.code, error.headers, message, now_s)
        if limit_s is not None:
            until = datetime.fromtimestamp(round(now_s + limit_s), UTC)
            todo = f"repeat the command after {until:%H:%M:%S} UTC"
            return BusyError(f"{self._host}: the rate limit of {name} is reached", todo, limit_s)
        if error.code >= 500:
            what = f"{self._host}: the server failed ({error.code})"
            return BusyError(what, "repeat the command later", retry_after_s(error.headers))
        reason = f"{error.code} {self._short(message)}"
        if error.code == 401:
            return UsageError(f"{self._host}: {name} is not accepted ({reason})", "it is wrong or expired: set another")
        if error.code == 403:
            return UsageError(f"{where}: permission denied ({reason})", f"{name} needs {self.rights}")
        if error.code == 404:
            todo = f"check --repo, --pr and --sha; {name} must have access to them"
            return UsageError(f"{where}: not found", todo)
        if error.code < 400:
            return UsageError(f"{where}: moved ({error.code})", "give the new name to --repo")
        return UsageError(f"{where}: {method} is refused ({reason})", "check --pr and --sha")

    def _short(self, text: str) -> str:
        return short(self.masked(text))


def limit_wait_s(code: int, headers: Mapping[str, str] | Message, message: str, now_s: float) -> float | None:
    """Return for how many seconds a rate limit lasts; None for an answer that reports none.

    GitHub's rules (docs.github.com, "Rate limits for the REST API"): Retry-After, else the time of the reset when
    nothing remains, else a minute. GitLab's headers are named RateLimit-…, without X.
    """
    if code not in (403, 429):
        return None
    after_s = retry_after_s(headers)
    if after_s is not None:
        return after_s
    for prefix in ("X-RateLimit", "RateLimit"):
        reset = headers.get(f"{prefix}-Reset") or ""
        if headers.get(f"{prefix}-Remaining") == "0" and reset.isdecimal():
            return max(1.0, int(reset) - now_s)
    is_limit = code == 429 or "rate limit" in message.lower()
    return _UNNAMED_WAIT_S if is_limit else None


def _message_of(error: urllib.error.HTTPError) -> str:
    """Return the reason in the body of a refusal: `message`, of GitLab also `error`."""
    try:
        data = strict_json.parse_object(refusal_body(error))
    except (OSError, http.client.HTTPException, ValueError):
        return str(error.reason)
    return str(data.get("message") or data.get("error") or error.reason)
