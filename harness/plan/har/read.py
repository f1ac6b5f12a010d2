"""Reads HAR files of browsers and proxies: the requests in order, and what was left out."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes
from email.policy import HTTP
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from harness.base.errors import UsageError
from harness.base.units import MS_PER_S, plural

# json.load needs about five times the size of the file.
MOST_BYTES = 100 * 1024 * 1024
_ENTRY = re.compile(r'"startedDateTime"\s*:')
_TEXT = re.compile(r"text/|json|xml|javascript|x-www-form-urlencoded", re.IGNORECASE)
_CHARSET = re.compile(r"charset=[\"']?([\w.-]+)", re.IGNORECASE)
_TODO = "export the HAR again, with content"
_NO_ANSWER = "without a response"

Headers = tuple[tuple[str, str], ...]


class Param(NamedTuple):
    """A field of a form; an upload has the name of its `file` and its content type."""

    name: str
    value: str
    file: str = ""
    content_type: str = ""


@dataclass(frozen=True)
class Call:
    """A request with its response; `start_s` is since 1970. `page` is the HAR's page, empty without one."""

    method: str
    url: str
    start_s: float
    end_s: float
    headers: Headers
    body: str
    params: tuple[Param, ...]
    body_type: str
    status: int
    response_headers: Headers
    response_type: str
    response: str
    redirect: str
    page: str

    @property
    def host(self) -> str:
        """The host and port of the URL."""
        return urlsplit(self.url).netloc.lower()

    def header(self, name: str) -> str:
        """Return a header of the request; empty without it."""
        return next((value for key, value in self.headers if key.lower() == name), "")


@dataclass(frozen=True)
class Recording:
    """The calls of a HAR in the order of their starts; `left_out` counts the others by reason."""

    name: str
    calls: tuple[Call, ...]
    left_out: Mapping[str, int]


def read_har(path: Path) -> Recording:
    """Return the recording in a HAR file. UsageError for one that cannot be read, is too large or has no request."""
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            most = f"at most {MOST_BYTES // 1024**2} MB are read"
            todo = "record only the steps of the test, without downloads"
            raise UsageError(f"{path.name}: {size / 1024**2:.0f} MB, and {most}", todo)
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", "check the path") from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        at = error.pos if isinstance(error, json.JSONDecodeError) else 0
        line = text.count("\n", 0, at) + 1
        read = plural(len(_ENTRY.findall(text, 0, at)), "request")
        raise UsageError(f"{path.name}:{line}: not complete JSON after {read}", _TODO) from None
    log = data.get("log") if isinstance(data, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(entries, list):
        raise UsageError(f"{path.name}: no HAR: it has no log.entries", _TODO)
    left_out: Counter[str] = Counter()
    calls = []
    for number, entry in enumerate(entries, 1):
        try:
            reason = _reason(entry)
            if reason:
                left_out[reason] += 1
            else:
                calls.append(_call(entry))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"{path.name}: entry {number} is not that of a HAR ({error!r})", _TODO) from None
    if not calls:
        raise UsageError(f"{path.name}: no HTTP request with a response", _TODO)
    return Recording(path.name, tuple(sorted(calls, key=lambda call: call.start_s)), left_out)


def has_secure_cookie(call: Call) -> bool:
    """Return whether a response sets a cookie for https only; Chromium also sends it to http://127.0.0.1."""
    cookies = "\n".join(value for name, value in call.response_headers if name.lower() == "set-cookie")
    return bool(re.search(r"(?im);\s*secure\s*(?:;|$)", cookies))


def _reason(entry: Mapping[str, Any]) -> str:
    """Return why an entry is no request of a plan; empty when it is one."""
    url, response = entry["request"]["url"], entry.get("response") or {}
    scheme = urlsplit(url).scheme.lower()
    if scheme in ("ws", "wss") or entry.get("_webSocketMessages") or response.get("status") == 101:
        return "WebSocket"
    if scheme not in ("http", "https"):
        return f"{scheme}: URL"
    if entry["request"]["method"] in ("CONNECT", "OPTIONS"):
        return str(entry["request"]["method"])
    return "" if response.get("status", 0) > 0 else _NO_ANSWER


def _call(entry: Mapping[str, Any]) -> Call:
    request, response = entry["request"], entry["response"]
    content = response.get("content") or {}
    start_s = datetime.fromisoformat(entry["startedDateTime"].replace("Z", "+00:00")).timestamp()
    response_headers = _headers(response.get("headers"))
    data = request.get("postData") or {}
    kind = data.get("mimeType") or _value(_headers(request.get("headers")), "content-type")
    located = _value(response_headers, "location") or response.get("redirectURL") or ""
    return Call(
        method=request["method"].upper(),
        url=request["url"].partition("#")[0],
        start_s=start_s,
        end_s=start_s + max(0.0, float(entry.get("time") or 0)) / MS_PER_S,
        headers=_headers(request.get("headers")),
        body=data.get("text") or "",
        params=tuple(_params(data, kind)),
        body_type=kind,
        status=int(response["status"]),
        response_headers=response_headers,
        response_type=content.get("mimeType") or _value(response_headers, "content-type"),
        response=_content(content),
        redirect=located if 300 <= response["status"] < 400 else "",
        page=entry.get("pageref") or "",
    )


def _headers(entries: Any) -> Headers:
    """Return the headers without the pseudo headers of HTTP/2, such as :path."""
    return tuple((one["name"], str(one["value"])) for one in entries or () if not one["name"].startswith(":"))


def _value(headers: Headers, name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")


def _content(content: Mapping[str, Any]) -> str:
    """Return the text of a response; empty for binary content, or without content."""
    text, kind = content.get("text") or "", content.get("mimeType") or ""
    if content.get("encoding") != "base64":
        return text
    if kind and not _TEXT.search(kind):
        return ""
    try:
        found = _CHARSET.search(kind)
        return base64.b64decode(text).decode(found[1] if found else "utf-8", errors="replace")
    except (binascii.Error, LookupError):
        return ""


def _params(data: Mapping[str, Any], kind: str) -> Iterator[Param]:
    """Yield the fields of a form; tools store them as fields, as text, or both."""
    text = data.get("text") or ""
    if "multipart/form-data" in kind and text:
        yield from _parts(text, kind)
    elif "x-www-form-urlencoded" in kind and text:
        yield from (Param(name, value) for name, value in parse_qsl(text, keep_blank_values=True))
    elif "form" in kind:
        for one in data.get("params") or ():
            file, content_type = one.get("fileName") or "", one.get("contentType") or ""
            yield Param(one["name"], one.get("value") or "", file, content_type)


def _parts(text: str, kind: str) -> Iterator[Param]:
    head = f"Content-Type: {kind}\r\n\r\n"
    message = message_from_bytes((head + text).encode("utf-8", "surrogateescape"), policy=HTTP)
    for part in message.iter_parts() if message.is_multipart() else ():
        name = part.get_param("name", header="content-disposition")
        body = part.get_payload(decode=True)
        text = body.decode(errors="surrogateescape") if isinstance(body, bytes) else ""
        is_file = part.get_filename() is not None
        shown_type = part.get_content_type() if is_file else ""
        # The name "file" distinguishes an upload without a name from a field.
        file = (part.get_filename() or "file") if is_file else ""
        yield Param(str(name), text, file, shown_type)
