"""Compares two recordings of requests: method, path, query, headers, cookies, body and order; the host apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from urllib.parse import urlsplit

from bench.plans.capture import Received

# What the host of a request is replaced by.
HOST = "//HOST"
# The connection's own, and the host.
_LEFT_OUT = ("host", "connection", "proxy-connection")
_BOUNDARY = re.compile(r"boundary=\"?([\w'()+,./:=?-]+)")


@dataclass(frozen=True)
class Request:
    """A request without its host: the names of its parts and their texts, in the order of their comparison."""

    parts: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        """Return method and path."""
        return " ".join(text for name, text in self.parts if name in ("method", "path"))


@dataclass(frozen=True)
class Difference:
    """A part of the request at an index that differs; `part` is "request" where one side has no such request."""

    index: int
    part: str
    plain: str
    ours: str


def request_of(one: Received) -> Request:
    """Return a recorded request without its host, and without what JMeter makes up anew for each."""
    path, _, query = one.target.partition("?")
    headers = [(name.lower(), value) for name, value in one.headers if name.lower() not in _LEFT_OUT]
    body = one.body.decode("utf-8", errors="replace")
    boundary = next((match[1] for _, value in headers if (match := _BOUNDARY.search(value))), "")
    texts = [("method", one.method), ("path", path), ("query", query)]
    texts += [(f"header {name}", value) for name, value in sorted(headers)]
    texts += [("body", body)]
    return Request(tuple((name, _without_host(_without(text, boundary), one.origin)) for name, text in texts))


def differences(plain: Sequence[Request], ours: Sequence[Request], *, in_order: bool = True) -> list[Difference]:
    """Return what differs; without `in_order` the order alone is no difference."""
    if not in_order:
        plain, ours = (sorted(side, key=lambda request: request.parts) for side in (plain, ours))
    found: list[Difference] = []
    for index, (one, other) in enumerate(zip_longest(plain, ours)):
        if one is None or other is None or one.title != other.title:
            found.append(Difference(index, "request", one.title if one else "", other.title if other else ""))
        else:
            found += (Difference(index, *parts) for parts in _different_parts(one, other))
    return found


def _different_parts(one: Request, other: Request) -> Iterator[tuple[str, str, str]]:
    for name in dict.fromkeys(name for name, _ in (*one.parts, *other.parts)):
        sides = [Counter(text for part, text in request.parts if part == name) for request in (one, other)]
        if sides[0] != sides[1]:
            yield name, " | ".join(sides[0]), " | ".join(sides[1])


def _without(text: str, boundary: str) -> str:
    return text.replace(boundary, "BOUNDARY") if boundary else text


def _without_host(text: str, origin: str) -> str:
    parts = urlsplit(origin)
    if parts.netloc:
        text = re.sub(rf"(?i)(https?://)?(?<![\w.-]){re.escape(parts.netloc)}(?![\w.-])", HOST, text)
    host = parts.hostname or ""
    return re.sub(rf"(?i)(https?://)?(?<![\w.-]){re.escape(host)}(?![\w.-])(:\d+)?", HOST, text) if host else text
