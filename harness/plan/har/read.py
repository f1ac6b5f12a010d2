"""Reads HAR files of browsers and proxies: the requests in order, and what was left out."""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes
from email.policy import HTTP
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, unquote_to_bytes, urlsplit

from harness.base.errors import UsageError
from harness.base.units import MS_PER_S
from harness.plan.har.entries import TODO, entries_of

_STATIC_TYPE = re.compile(r"image/|font/|audio/|video/|text/css|javascript|font-|/wasm|/manifest\+json", re.IGNORECASE)
_STATIC_PATH = re.compile(
    r"\.(?:css|m?js|map|png|jpe?g|gif|svg|ico|webp|avif|woff2?|ttf|eot|otf|mp[34]|webm|wasm)$", re.IGNORECASE
)
_TEXT = re.compile(r"text/|json|xml|javascript|x-www-form-urlencoded", re.IGNORECASE)
_CHARSET = re.compile(r"charset=[\"']?([\w.-]+)", re.IGNORECASE)
# Each byte is a character of it.
_ANY_BYTES = "iso-8859-1"
_METHOD = re.compile(r"[A-Z][A-Z-]{0,30}")
# Of a larger response nothing is looked for; a larger request is none of a load test.
_TEXT_MOST = 10_000_000
_NO_ANSWER = "without a response"

Headers = tuple[tuple[str, str], ...]


class Param(NamedTuple):
    """A field of a form; an upload has the name of its `file` and its content type."""

    name: str
    value: str
    file: str = ""
    content_type: str = ""


@dataclass(frozen=True)
class RecordedCall:
    """A request with its response; `start_s` is since 1970. `page` is the HAR's page, empty without one.

    `charset` is that of its body, empty for UTF-8.
    """

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
    charset: str = ""

    @property
    def host(self) -> str:
        """The host of the URL, and its port unless that is the scheme's."""
        return urlsplit(self.url).netloc.lower()

    @property
    def origin(self) -> str:
        """The scheme and the host."""
        return f"{urlsplit(self.url).scheme.lower()}://{self.host}"

    def header(self, name: str) -> str:
        """Return a header of the request; empty without it."""
        return next((value for key, value in self.headers if key.lower() == name), "")


@dataclass(frozen=True)
class HarRecording:
    """The calls of a HAR in the order of their starts; `left_out` counts the others by reason."""

    name: str
    calls: tuple[RecordedCall, ...]
    left_out: Mapping[str, int]


def read_har(path: Path) -> HarRecording:
    """Return the recording in a HAR file. UsageError for one that cannot be read or has no request."""
    left_out: Counter[str] = Counter()
    calls = []
    try:
        for number, entry in enumerate(entries_of(path), 1):
            try:
                reason = _reason(entry)
                if reason:
                    left_out[reason] += 1
                else:
                    calls.append(_call(entry))
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
                raise UsageError(f"{path.name}: entry {number} is not that of a HAR ({error!r})", TODO) from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", "check the path") from None
    if not calls:
        raise UsageError(f"{path.name}: no HTTP request with a response", TODO)
    return HarRecording(path.name, tuple(sorted(calls, key=lambda call: call.start_s)), left_out)


def plain_address(url: str) -> str:
    """Return a URL without the port of its scheme, which browsers never write."""
    return re.sub(r"(?i)^(http://[^/?#]*):80(?=[/?#]|$)|^(https://[^/?#]*):443(?=[/?#]|$)", r"\1\2", url)


def is_static(method: str, url: str, response_type: str) -> bool:
    """Return whether a request gets a static file; a plan sends none, and the text of its response is not stored."""
    return (
        method in ("GET", "HEAD")
        and not ("html" in response_type or "json" in response_type)
        and bool(_STATIC_TYPE.search(response_type) or _STATIC_PATH.search(urlsplit(url).path))
    )


def has_secure_cookie(call: RecordedCall) -> bool:
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
    return "" if (response.get("status") or 0) > 0 else _NO_ANSWER


def _call(entry: Mapping[str, Any]) -> RecordedCall:
    request, response = entry["request"], entry["response"]
    content = response.get("content") or {}
    method, url, user = request["method"].upper(), *_without_user(request["url"].partition("#")[0])
    url = plain_address(url)
    if not _METHOD.fullmatch(method):
        raise ValueError(f"the method {method[:20]!r}")
    start_s = datetime.fromisoformat(entry["startedDateTime"].replace("Z", "+00:00")).timestamp()
    response_headers = _headers(response.get("headers"))
    data = _sent(request.get("postData") or {})
    headers = _headers(request.get("headers"))
    if len(data.get("text") or "") > _TEXT_MOST:
        raise ValueError(f"its body is larger than {_TEXT_MOST} characters")
    kind = data.get("mimeType") or _value(headers, "content-type")
    if kind and (data.get("text") or data.get("params")) and not _value(headers, "content-type"):
        headers = (*headers, ("Content-Type", kind))
    response_type = content.get("mimeType") or _value(response_headers, "content-type")
    located = _value(response_headers, "location") or response.get("redirectURL") or ""
    return RecordedCall(
        method=method,
        url=url,
        start_s=start_s,
        end_s=start_s + max(0.0, float(entry.get("time") or 0)) / MS_PER_S,
        headers=_with_user(headers, user),
        body=data.get("text") or "",
        params=tuple(_params(data, kind)),
        body_type=kind,
        status=int(response["status"]),
        response_headers=response_headers,
        response_type=response_type,
        response="" if is_static(method, url, response_type) else _content(content),
        redirect=located if 300 <= response["status"] < 400 else "",
        page=entry.get("pageref") or "",
        charset=_charset(data, kind),
    )


def _sent(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the body of a request with its text; one that is stored in base64 may have any bytes."""
    if data.get("encoding") != "base64":
        return data
    body = base64.b64decode(data.get("text") or "")
    found = _CHARSET.search(data.get("mimeType") or "")
    try:
        return {**data, "text": body.decode(found[1] if found else "utf-8")}
    except (LookupError, UnicodeDecodeError):
        kind = f"{(data.get('mimeType') or '').partition(';')[0]}; charset={_ANY_BYTES}"
        return {**data, "text": body.decode(_ANY_BYTES), "bytes": kind}


def _charset(data: Mapping[str, Any], kind: str) -> str:
    """Return the charset of a body that is not UTF-8: the one of its type, or of the bytes that a form has escaped."""
    text = data.get("text") or ""
    found = _CHARSET.search(data.get("bytes") or kind)
    try:
        name = found[1].upper() if found else "UTF-8"
        text.encode(name)
        if "x-www-form-urlencoded" in kind:
            unquote_to_bytes(text).decode(name)
    except LookupError:
        return ""
    except UnicodeError:
        return "ISO-8859-1" if "x-www-form-urlencoded" in kind else ""
    return "" if name in ("UTF-8", "UTF8") else name


class _Address(NamedTuple):
    """A URL, and user and password that were in it."""

    url: str
    user: str


def _without_user(url: str) -> _Address:
    """Return a URL without user and password, and these."""
    head, slashes, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    user, at, host = host.rpartition("@")
    return _Address(f"{head}{slashes}{host}{slash}{path}", user) if at else _Address(url, "")


def _with_user(headers: Headers, user: str) -> Headers:
    """Return headers with the one in which a browser sends user and password of a URL."""
    if not user or _value(headers, "authorization"):
        return headers
    return (*headers, ("Authorization", f"Basic {base64.b64encode(unquote(user).encode()).decode()}"))


def _headers(entries: Any) -> Headers:
    """Return the headers without the pseudo headers of HTTP/2, such as :path."""
    return tuple((one["name"], str(one["value"])) for one in entries or () if not one["name"].startswith(":"))


def _value(headers: Headers, name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")


def _content(content: Mapping[str, Any]) -> str:
    """Return the text of a response; empty for binary content, or without content."""
    text, kind = content.get("text") or "", content.get("mimeType") or ""
    if len(text) > _TEXT_MOST:
        return ""
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
        pairs = parse_qsl(text, keep_blank_values=True, encoding=_charset(data, kind) or "UTF-8")
        yield from (Param(name, value) for name, value in pairs)
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
