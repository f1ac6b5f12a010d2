"""Reads a curl command, as the developer tools of a browser copy it, as one HTTP request."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote_plus

from harness.base.errors import UsageError
from harness.base.regular import regular
from harness.plan.jmx.headers import OF_JMETER, literal, merged, resolved, variables_in

_SHORT = {
    "A": "user-agent", "F": "form", "G": "get", "H": "header", "I": "head", "L": "location", "S": "show-error",
    "X": "request", "b": "cookie", "d": "data", "e": "referer", "f": "fail", "g": "globoff", "i": "include",
    "k": "insecure", "o": "output", "s": "silent", "u": "user", "v": "verbose",
}  # fmt: skip
_DATA = ("data", "data-ascii", "data-raw", "data-binary", "data-urlencode", "json")
_WITH_VALUE = (
    *_DATA, "cookie", "form", "form-string", "header", "output", "referer", "request", "url", "user", "user-agent",
)  # fmt: skip
# Those that are used nowhere below change what curl prints, or trust a certificate: JMeter trusts all.
_FLAGS = (
    "compressed", "fail", "get", "globoff", "head", "include", "insecure", "location", "show-error", "silent",
    "verbose",
)  # fmt: skip
_HEADER_OF = {"cookie": "Cookie", "referer": "Referer", "user-agent": "User-Agent"}
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE")
_FORM_TYPE, _JSON_TYPE = "application/x-www-form-urlencoded", "application/json"
_PATTERN = re.compile(r"[{}\[\]]")


class CurlExtractor(NamedTuple):
    """A variable that is a random one of the values at a JSON path of a response, or a default where there is none.

    A path without [*] has one value. With a `header` it is what the group of `pattern` matches in the headers.
    """

    variable: str
    json_path: str
    default: str
    header: str = ""
    pattern: str = ""


@dataclass(frozen=True)
class OneRequest:
    """An HTTP request whose texts may read environment variables: $NAME, and $$ for a dollar sign.

    `url` is complete; it may also read the variables of extractors. `body` is None without one, `form` are the fields
    of a multipart form. `label` and `codes`, a regular expression, are empty for the usual ones. `parts` are regular
    expressions that the response must have.
    """

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: str | None = field(default=None, repr=False)
    form: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    follows_redirects: bool = False
    label: str = ""
    codes: str = ""
    parts: tuple[str, ...] = ()
    extractors: tuple[CurlExtractor, ...] = ()


class _Given(NamedTuple):
    """An option of curl by its long name, or a field of a form; the value is empty for one that is on or off."""

    name: str
    value: str


def request_of_curl(words: list[str]) -> OneRequest:
    """Return the request of a curl command in words. UsageError, naming the option, for what cannot be done here."""
    if not words or Path(words[0]).name not in ("curl", "curl.exe"):
        raise UsageError("--curl: the text does not begin with curl", "copy the request as cURL (bash)")
    given = list(_options(words[1:]))
    names = {one.name for one in given}
    urls = [one.value for one in given if one.name == "url"]
    if len(urls) != 1:
        raise UsageError(f"--curl: the command has {len(urls)} addresses", "give a command with one")
    url = urls[0] if "://" in urls[0] else f"http://{urls[0]}"
    literal = resolved(url.partition("://")[2].partition("/")[2], lambda _: "")
    if _PATTERN.search(literal) and "globoff" not in names:
        raise UsageError("--curl: the address has a pattern of curl, [ ] or { }", "add -g if it is meant literally")
    form = tuple(_field(one) for one in given if one.name in ("form", "form-string"))
    body = _body(given)
    if form and body is not None:
        raise UsageError("--curl: -F and -d cannot be used together", "give one")
    headers, has_data = _headers(given), body is not None or bool(form)
    if body is not None and "get" in names:
        url, body, has_data = f"{url}{'&' if '?' in url else '?'}{body}", None, False
    elif body is not None:
        types = {"Content-Type": _JSON_TYPE, "Accept": _JSON_TYPE} if "json" in names else {"Content-Type": _FORM_TYPE}
        headers = merged(types, headers)
    method = next((one.value for one in reversed(given) if one.name == "request"), "")
    method = method or ("HEAD" if "head" in names else "POST" if has_data else "GET")
    if method not in _METHODS:
        raise UsageError(f"--curl: -X {method} is not supported", f"JMeter sends {', '.join(_METHODS)}")
    headers = {name: value for name, value in headers.items() if not (form and name.lower() == "content-type")}
    return OneRequest(url, method, headers, body, form, "location" in names)


def _options(words: list[str]) -> Iterator[_Given]:
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            yield _Given("url", word)
            continue
        name, letters = word[2:], word[1:]
        if not word.startswith("--"):
            while letters[1:] and _SHORT.get(letters[0]) in _FLAGS:
                yield _Given(_SHORT[letters[0]], "")
                letters = letters[1:]
            name = _SHORT.get(letters[:1], "")
        value = "" if word.startswith("--") else letters[1:]
        if name in _WITH_VALUE:
            text = value or next(rest, None)
            if text is None:
                raise UsageError(f"--curl: {word} has no value", "copy the whole command")
            yield _Given(name, text)
        elif name in _FLAGS and not value:
            yield _Given(name, "")
        else:
            shown = word if word.startswith("--") else f"-{letters[:1]}"
            raise UsageError(f"--curl: the option '{shown}' is not supported", "remove it from the command")


def _headers(given: list[_Given]) -> dict[str, str]:
    """Return the headers of the options, also of -b, -A, -e, -u and --compressed; -H has priority."""
    headers: dict[str, str] = {}
    removed = []
    for name, value in given:
        if name in _HEADER_OF:
            if name == "cookie" and "=" not in value:
                raise UsageError("--curl: -b reads a file of cookies, which is not supported", "give -b 'name=value'")
            earlier = f"{headers['Cookie']}; " if name == "cookie" and "Cookie" in headers else ""
            headers = merged(headers, {_HEADER_OF[name]: earlier + value})
        elif name == "user":
            if ":" not in value:
                raise UsageError("--curl: -u has no password, for which curl asks", "give -u 'user:password'")
            headers = merged(headers, {"Authorization": f"Basic {_base64(value)}"})
        elif name == "compressed":
            headers = merged(headers, {"Accept-Encoding": "gzip, deflate, br"})
    written: dict[str, str] = {}
    for text in (one.value for one in given if one.name == "header"):
        name, colon, value = text.partition(":")
        if text.startswith("@"):
            raise UsageError("--curl: -H reads a file of headers, which is not supported", "give -H 'Name: value'")
        if not colon and not text.endswith(";"):
            raise UsageError("--curl: -H has a text without a colon", "give -H 'Name: value'")
        name = name.rstrip(";").strip()
        if colon and not value.strip():  # curl sends no such header
            removed.append(name.lower())
        elif name.lower() not in OF_JMETER:
            same = next((value for one, value in written.items() if one.lower() == name.lower()), "")
            written = merged(written, {name: f"{same}, {value.strip()}" if same else value.strip()})
    return {name: value for name, value in merged(headers, written).items() if name.lower() not in removed}


def _base64(text: str) -> str:
    if variables_in(text):
        todo = "write -H 'Authorization: Basic $NAME' with a variable that has user:password in base64"
        raise UsageError("--curl: -u with a variable is not supported", todo)
    return base64.b64encode(_plain(text).encode()).decode()


def _body(given: list[_Given]) -> str | None:
    """Return the joined data of the options; None without any."""
    body: str | None = None
    for name, value in given:
        if name in _DATA:
            part = _data(name, value)
            body = part if body is None else f"{body}{'' if name == 'json' else '&'}{part}"
    return body


def _data(name: str, value: str) -> str:
    if name == "data-urlencode":
        key, equals, content = value.partition("=")
        if not equals and "@" in value:
            key, _, file = value.partition("@")
            content = _file(file)
        elif not equals:
            key, content = "", value
        return (f"{key}=" if key else "") + resolved(content, _not_encoded, quote_plus)
    if name == "data-raw" or not value.startswith("@"):
        return value
    text = _file(value[1:])
    return text if name in ("data-binary", "json") else text.replace("\r", "").replace("\n", "")


def _file(name: str) -> str:
    try:
        return literal(regular(Path(_plain(name))).read_bytes().decode())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise UsageError(f"--curl: the file {name} of its data cannot be read ({reason})", "name a text file") from None


def _field(option: _Given) -> _Given:
    """Return a field of a form by its name."""
    name, equals, value = option.value.partition("=")
    if option.name == "form" and (value[:1] in ("@", "<") or ";" in value):
        what = "uploads of files" if value[:1] in ("@", "<") else "fields with a type"
        raise UsageError(f"--curl: -F {name}: {what} are not supported", "add them in JMeter: lth init, then lth gui")
    if not equals:
        raise UsageError(f"--curl: -F {name} is no field", "give -F name=value")
    return _Given(name, value)


def _plain(text: str) -> str:
    return resolved(text, lambda name: f"${name}")


def _not_encoded(name: str) -> str:
    raise UsageError(f"--curl: '--data-urlencode' with the variable ${name} is not supported", "use '--data-raw'")
