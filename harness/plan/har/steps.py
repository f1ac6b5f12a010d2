"""Makes the steps of a plan of a recording: requests to one host, in transactions, with the fields that they send."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import unquote, unquote_plus, urlsplit

from harness.base.credentials import is_credential, looks_random, without_credentials
from harness.base.errors import UsageError
from harness.plan.har.page import Form, is_typed, joined_url, read_page
from harness.plan.har.read import HarRecording, RecordedCall, is_static, plain_address

_NEW_PAGE_S = 2.0
# What replaces the address of the target in what is sent.
ORIGIN = "${origin}"
# Headers that JMeter sets itself, or that describe the browser and not the request.
_NOT_SENT = re.compile(
    r"host|connection|content-length|cookie|accept-encoding|accept-language|user-agent|upgrade-insecure-requests|"
    r"cache-control|pragma|if-.*|dnt|priority|te|sec-.*|traceparent|proxy-.*|keep-alive|expect|transfer-encoding",
    re.IGNORECASE,
)
_PERSONAL = re.compile(
    r"(?i)(?:.*[_.\[-])?(?:user_?name|user|e?mail|login|account|pass\w*|pin|query|search|q|term|keyword|phone|"
    r"(?:first|last|full)?_?name|title|comment|message|text|subject|description|summary|note|"
    r"street|city|address|zip|postcode)\]?"
)


_FORM = "application/x-www-form-urlencoded"
# Names that are also those of members which a program fills: {"query": "{ shop }"}.
_PLAIN_NAMES = ("name", "query", "q", "term", "title", "text")
_SEARCH = re.compile(r"(?i).*(?:search|query|term|keyword|filter).*|q")


class Where(StrEnum):
    """Where a request sends a value."""

    PATH = "path"
    QUERY = "query"
    FORM = "field"
    BODY = "body"
    HEADER = "header"


class FieldKey(NamedTuple):
    """What identifies a field in its step."""

    where: str
    name: str


@dataclass(frozen=True)
class Field:
    """A value that a request sends, decoded. A path has a field for each segment, a raw body is one field.

    `typed` is the name of the column when a person typed it; a secret is one that goes to the environment. A text that
    `may_vary` is one of a form without a password: it names what is made, and not who does it or what exists.
    """

    where: Where
    name: str
    text: str
    file: str = ""
    content_type: str = ""
    typed: str = ""
    is_secret: bool = False
    may_vary: bool = False

    @property
    def key(self) -> FieldKey:
        """What identifies the field in its step."""
        return FieldKey(self.where, self.name)


@dataclass(frozen=True)
class RecordedStep:
    """A request: its fields, and the responses of its redirects, the last one at the end.

    `title` is that of its transaction where it begins one, else empty; `pause_s` is the pause before.
    """

    method: str
    path: str
    fields: tuple[Field, ...]
    answers: tuple[RecordedCall, ...]
    title: str
    pause_s: float
    follows: bool

    @property
    def shape(self) -> tuple[str, ...]:
        """What is equal in two recordings of the step."""
        names = (f"{one.where}:{one.name}" for one in self.fields if one.where in (Where.QUERY, Where.FORM))
        return (self.method, path_shape(self.path), *names)


def path_shape(path: str) -> str:
    """Return a path with # for each segment that may be an id."""
    return "/".join("#" if re.search(r"\d|.{24}", part) or looks_random(part) else part for part in path.split("/"))


@dataclass(frozen=True)
class Steps:
    """The steps of a recording; `hosts` counts the requests to other hosts, `static` those of static files."""

    origin: str
    steps: tuple[RecordedStep, ...]
    hosts: Mapping[str, int] = field(default_factory=dict)
    static: int = 0


def steps_of(recording: HarRecording, host: str = "") -> Steps:
    """Return the steps of a recording: the requests to `host`, by default the host of its first document.

    Where that document redirects to other hosts, it is the one of these with most requests. Of the addresses of a host
    the one with most requests counts. UsageError when there is none.
    """
    host = host or _first_host(recording.calls)
    own = [call for call in recording.calls if call.host == host]
    if not own:
        there = ", ".join(dict.fromkeys(call.host for call in recording.calls))
        raise UsageError(f"{recording.name}: no request to {host}", f"give one of its hosts as --target: {there}")
    origin = _most([call.origin for call in own if not _is_static(call)] or [own[0].origin])
    hosts = Counter(
        call.origin if call.host == host else call.host for call in recording.calls if call.origin != origin
    )
    own = [call for call in own if call.origin == origin]
    calls = [call for call in own if not _is_static(call)]
    if not calls:
        raise UsageError(f"{recording.name}: only static files of {host}", "record the pages, too")
    return Steps(origin, tuple(_steps(calls, origin)), hosts, len(own) - len(calls))


def _first_host(calls: Sequence[RecordedCall]) -> str:
    """Return the host of the first document, or the one with most requests of those to which it redirects."""
    chain = [next((call for call in calls if _is_document(call)), calls[0])]
    while goal := plain_address(joined_url(chain[-1].url, chain[-1].redirect)) if chain[-1].redirect else "":
        later = (call for call in calls if call.start_s >= chain[-1].start_s and call not in chain)
        following = next((call for call in later if call.url == goal.partition("#")[0]), None)
        if following is None:
            break
        chain.append(following)
    counts = Counter(call.host for call in calls if not _is_static(call))
    return max(dict.fromkeys(call.host for call in chain), key=lambda host: counts[host])


def _most(texts: Sequence[str]) -> str:
    return Counter(texts).most_common(1)[0][0]


def _is_static(call: RecordedCall) -> bool:
    return is_static(call.method, call.url, call.response_type)


def _is_document(call: RecordedCall) -> bool:
    return "text/html" in call.response_type and call.header("sec-fetch-dest") in ("", "document")


def _steps(calls: Sequence[RecordedCall], origin: str) -> Iterator[RecordedStep]:
    before: list[RecordedCall] = []
    rest = list(calls)
    while rest:
        chain = _chain(rest, origin)
        for call in chain:
            rest.remove(call)
        first, last = chain[0], chain[-1]
        gap_s = max(0.0, first.start_s - max(call.end_s for call in before)) if before else 0.0
        is_navigation = first.header("sec-fetch-mode") in ("", "navigate") and _is_document(last)
        is_new = not before or is_navigation or first.page != before[-1].page or gap_s > _NEW_PAGE_S
        form = _form(first, before)
        fields = tuple(_fields(first, form, before, origin))
        title = _title(first, last, form, fields) if is_new else ""
        is_followed = not last.redirect
        path = urlsplit(first.url).path or "/"
        yield RecordedStep(first.method, path, fields, chain, title, gap_s, is_followed)
        before += chain


def _chain(calls: Sequence[RecordedCall], origin: str) -> tuple[RecordedCall, ...]:
    """Return the first call with the calls to which the target redirects it."""
    chain = [calls[0]]
    while chain[-1].redirect:
        goal = plain_address(joined_url(chain[-1].url, chain[-1].redirect)).partition("#")[0]
        following = next((call for call in calls if call.url == goal and call.start_s >= chain[-1].start_s), None)
        if not goal.startswith(f"{origin}/") or following is None or following in chain or following.method == "POST":
            break
        chain.append(following)
    return tuple(chain)


def _form(call: RecordedCall, before: Sequence[RecordedCall]) -> Form | None:
    """Return the latest form that sends this call: its action and its fields fit."""
    path, names = urlsplit(call.url).path, {one.name for one in call.params} | set(_query_names(call))
    for page in reversed(before):
        forms = read_page(page.response).forms if "html" in page.response_type else []
        fits = [
            one for one in forms
            if urlsplit(joined_url(page.url, one.action)).path == path and names and names & one.inputs.keys()
        ]  # fmt: skip
        if fits:
            return max(fits, key=lambda one: len(names & one.inputs.keys()))
    return None


def _query_names(call: RecordedCall) -> list[str]:
    return [unquote_plus(pair.partition("=")[0]) for pair in urlsplit(call.url).query.split("&") if pair]


def _title(first: RecordedCall, last: RecordedCall, form: Form | None, fields: Sequence[Field]) -> str:
    """Return a readable name: the button of the form that was sent, else the title of the page, else the path."""
    sent = {(one.name, one.text) for one in fields}
    buttons = form.buttons if form and first.method == "POST" else {}
    pressed = next((text for key, text in buttons.items() if key in sent and text), "")
    plain = next((text for (name, _), text in buttons.items() if not name and text), "")
    only = next(iter(buttons.values()), "") if len(buttons) == 1 else ""
    button = pressed or (plain if first.header("sec-fetch-mode") in ("", "navigate") else "") or only
    title = read_page(last.response).title if "html" in last.response_type else ""
    path = urlsplit(first.url).path or "/"
    name = without_credentials(button or (title if first.method == "GET" else "")) or f"{first.method} {path}"
    return " ".join(re.sub(r"[^\w ./&+'-]+", " ", name).split())[:50] or path


def _fields(call: RecordedCall, form: Form | None, before: Sequence[RecordedCall], origin: str) -> Iterator[Field]:
    parts = urlsplit(call.url)
    for number, segment in enumerate(parts.path.split("/")[1:]):
        yield Field(Where.PATH, str(number), unquote(segment))
    counts: Counter[tuple[str, str]] = Counter()
    pairs = [
        (Where.QUERY, unquote_plus(name), unquote_plus(value), "", "")
        for name, _, value in (pair.partition("=") for pair in parts.query.split("&") if pair)
    ]
    pairs += [(Where.FORM, *param) for param in call.params]
    for where, name, value, file, content_type in pairs:
        counts[where, name] += 1
        number = counts[where, name]
        key = name if number == 1 else f"{name}#{number}"
        typed, is_secret = _Typed() if file else _typed(name, value, form, before)
        may_vary = bool(typed) and not is_secret and where is Where.FORM and _may_vary(name, value, form)
        text = value if file else value.replace(origin, ORIGIN)
        yield Field(where, key, text, file, content_type, typed, is_secret, may_vary)
    if call.body and not call.params:
        yield Field(Where.BODY, "", call.body.replace(origin, ORIGIN))
    for name, value in call.headers:
        # JMeter sends the plain type of a form itself, also with a body that is empty.
        is_form = (call.params or not call.body) and ("multipart" in value or value.strip().lower() == _FORM)
        if not _NOT_SENT.fullmatch(name) and not (name.lower() == "content-type" and is_form):
            yield Field(Where.HEADER, name, value.replace(origin, ORIGIN))


class _Typed(NamedTuple):
    column: str = ""
    is_secret: bool = False


def _typed(name: str, value: str, form: Form | None, before: Sequence[RecordedCall]) -> _Typed:
    """Return the column for a field that a person typed, and whether it is a secret; an empty name for another one."""
    element = form.inputs.get(name) if form else None
    if element:
        is_secret = element.attributes.get("type", "").lower() == "password" or is_credential(name, value)
        is_own = is_typed(element) and value not in ("", element.attributes.get("value"))
        return _Typed(_column(name), is_secret) if is_own else _Typed()
    if form or not value or any(value in call.response for call in before):
        return _Typed()
    is_secret = is_password(name, value)
    return _Typed(_column(name), is_secret) if is_secret or _PERSONAL.fullmatch(name) else _Typed()


def _may_vary(name: str, value: str, form: Form | None) -> bool:
    types = {field: one.attributes.get("type", "").lower() for field, one in form.inputs.items()} if form else {}
    is_text = types.get(name) in ("", "text") and "password" not in types.values()
    return is_text and bool(re.search("[A-Za-z]", value)) and "@" not in value and not _SEARCH.fullmatch(name)


def is_password(name: str, value: str) -> bool:
    """Return whether a field is a secret that a person types; a token is not."""
    return is_credential(name, value) and bool(re.search(r"(?i)pass|pwd|secret|otp|pin", name))


def _column(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower() or "value"


def is_json(one: Field) -> bool:
    """Return whether a raw body or a field of a form is a JSON text."""
    return one.where in (Where.BODY, Where.FORM) and one.text.lstrip()[:1] in ("{", "[") and any(json_leaves(one.text))


def typed_leaves(
    one: Field, before: Sequence[RecordedCall], after: Sequence[RecordedCall], known: Mapping[str, str]
) -> Iterator[tuple[str, str, bool]]:
    """Yield column, value and whether it is a secret of each leaf of a JSON text that a person typed.

    A value that is `known` was typed before. A member of a body with a name such as `name` may be one of the program:
    it was typed if a request `after` it has the value in its URL or in its response.
    """
    for path, value in json_leaves(one.text):
        name = next((part for part in reversed(path) if isinstance(part, str)), "")
        is_new = isinstance(value, str) and value and not any(value in call.response for call in before)
        is_personal = bool(_PERSONAL.fullmatch(name))
        if is_new and is_personal and one.where is Where.BODY and name.lower() in _PLAIN_NAMES:
            is_personal = any(str(value) in call.response or str(value) in unquote(call.url) for call in after)
        if value in known or (is_new and (is_password(name, str(value)) or is_personal)):
            yield known.get(str(value)) or _column(name), str(value), is_password(name, str(value))


def json_leaves(text: str) -> Iterator[tuple[tuple[str | int, ...], str | int | float]]:
    """Yield path and value of each text and number in a JSON text; nothing for another text."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    stack: list[tuple[tuple[str | int, ...], object]] = [((), data)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            stack += [((*path, key), child) for key, child in reversed(value.items())]
        elif isinstance(value, list):
            stack += [((*path, index), child) for index, child in reversed(list(enumerate(value)))]
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield path, value
