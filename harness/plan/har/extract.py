"""Finds extractors: how JMeter reads a value from a response. Each is checked on the recorded responses."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import quote, quote_plus, unquote

from harness.plan.har.page import matching, read_page
from harness.plan.har.read import RecordedCall
from harness.plan.har.steps import Field, Where, json_leaves

_SAFE = re.compile(r"[\w.:@ -]+")
# A left boundary begins after what may be another value of the response.
_OTHER_VALUE = re.compile(r"[^\s\"'<>=/?&:,{}()]*\d{2}[^\s\"'<>=/?&:,{}()]*")
_LEFTS = (10, 16, 24, 40, 60)
_NAME = re.compile(r"(?:\[name=\"|\$.*\.)([\w-]{3,})(?:\"\])?$")
_ID = re.compile(r"(?i)id$|key$|no$|number")
_MOST_PLACES = 20
_FEW = 5


class ExtractorKind(StrEnum):
    """A kind of extractor, as people read it."""

    CSS = "CSS"
    JSON = "JSON path"
    BOUNDARY = "boundary"
    REGEX = "regular expression"
    HEADER = "header"


@dataclass(frozen=True)
class Extractor:
    """An extractor; `a` and `b` are selector and attribute, JSON path, boundaries, or regular expression.

    `number` says which match. A HEADER one reads the headers of all redirects.
    """

    kind: ExtractorKind
    a: str
    b: str = ""
    number: int = 1

    @property
    def text(self) -> str:
        """The extractor for people."""
        if self.kind is ExtractorKind.HEADER:
            return f"header {self.a.removeprefix('(?i)').partition(':')[0].lstrip(chr(92) + 'n')}"
        nth = f" #{self.number}" if self.number > 1 else ""
        more = {ExtractorKind.CSS: f"@{self.b}", ExtractorKind.BOUNDARY: f"…{self.b}"}.get(self.kind, "")
        return f"{self.kind} {self.a}{more}{nth}"

    def is_named(self, name: str) -> bool:
        """Return whether it reads an element or a JSON leaf whose name is, ends with, or ends that of a field."""
        own = _NAME.search(self.a)
        return own is not None and (own[1].endswith(name) or name.endswith(own[1]))

    def matches(self, answers: Sequence[RecordedCall]) -> list[str]:
        """Return all matches in the responses of a step."""
        body = answers[-1].response
        if self.kind is ExtractorKind.CSS:
            tag, name, value = _selector(self.a)
            return [one.attributes.get(self.b, "") for one in matching(read_page(body), tag, name, value)]
        if self.kind is ExtractorKind.JSON:
            return [value for path, value in _json_values(body) if path == self.a]
        if self.kind is ExtractorKind.BOUNDARY:
            return list(_between(body, self.a, self.b))
        texts = [body] if self.kind is ExtractorKind.REGEX else [_header_text(answer) for answer in answers]
        return [found for text in texts for found in re.findall(self.a, text)]

    def finds(self, answers: Sequence[RecordedCall], value: str) -> bool:
        """Return whether it extracts the value from the responses of a step."""
        found = self.matches(answers)
        return len(found) >= self.number and found[self.number - 1] == value


class Coding(NamedTuple):
    """How a value is sent: `call` has %s for the variable."""

    call: str


PLAIN = Coding("${%s}")
_BASE64 = Coding('${__groovy(vars.get("%s").bytes.encodeBase64().toString())}')
_FROM_BASE64 = Coding('${__groovy(new String(vars.get("%s").decodeBase64()))}')


def codings(value: str) -> list[tuple[str, Coding]]:
    """Return each form in which a response may have a value that is sent, and how that form is converted.

    A form that a value does not have is empty, so that two values have their forms at the same places.
    """
    forms = [(value, PLAIN)]
    for encoded in (quote(value, safe=""), quote(value, safe="/"), quote_plus(value)):
        forms.append((encoded, Coding("${__urldecode(${%s})}")))
    for escaped in (html.escape(value), html.escape(value, quote=False), value.replace("&", "&#38;")):
        forms.append((escaped, Coding("${__unescapeHtml(${%s})}")))
    forms.append((unquote(value), Coding("${__urlencode(${%s})}")))
    forms.append((base64.b64encode(value.encode()).decode() if len(value) >= _FEW else "", _FROM_BASE64))
    try:
        decoded = base64.b64decode(value, validate=True).decode()
    except ValueError:
        decoded = ""
    forms.append((decoded if len(decoded) >= _FEW and decoded.isprintable() else "", _BASE64))
    return forms


def looks_dynamic(value: str) -> bool:
    """Return whether a value may be made anew in each session: a number, or a text that is no word."""
    if re.search(r"\d", value):
        return not re.fullmatch(r"v?\d{1,2}(?:\.\d+)*|(?:19|20)\d\d|[a-z]+[-_]?\d", value) or value.isdigit()
    letters = re.sub(r"[^A-Za-z]", "", value)
    changes = sum(a.islower() and b.isupper() for a, b in pairwise(letters))
    vowels = sum(letter in "aeiouyAEIOUY" for letter in letters)
    return len(letters) >= 10 and (changes >= 3 or (len(letters) >= 16 and vowels < len(letters) / 5))


def proposals(value: str, field: Field, answers: tuple[RecordedCall, ...], *, is_varying: bool) -> Iterator[Extractor]:
    """Yield extractors that read a value from the responses of a step, the simplest first.

    Short or plain values count only where their place names them: a field of the same name, a link, a JSON leaf.
    `is_varying` says that the value differs between recordings.
    """
    if value not in _all_texts(answers):
        return
    is_long = len(value) > _FEW and (is_varying or looks_dynamic(value))
    found = [*_of_elements(value, field, answers, is_long), *_of_json(value, field, answers, is_long)]
    if not _is_flag(value, field):
        found += [*_of_headers(value, answers, is_long), *_of_text(value, field, answers, is_long)]
    yield from (one for one in found if one.finds(answers, value))


def _is_flag(value: str, field: Field) -> bool:
    """Return whether a value is a small number of a field that is not named as an id, such as page=1."""
    return (
        bool(re.fullmatch(r"\d{1,2}", value))
        and field.where in (Where.QUERY, Where.FORM)
        and not _ID.search(field.name)
    )


@lru_cache(maxsize=2048)
def _all_texts(answers: tuple[RecordedCall, ...]) -> str:
    """Return everything in which a value is looked for."""
    body = answers[-1].response
    bodies = dict.fromkeys((body, html.unescape(body), body.replace("\\/", "/")))
    return "\n".join((*bodies, *map(_header_text, answers)))


def _of_elements(value: str, field: Field, answers: Sequence[RecordedCall], is_long: bool) -> Iterator[Extractor]:
    page = read_page(answers[-1].response)
    for element in page.elements:
        for attribute, text in element.attributes.items():
            name = element.attributes.get("name", "")
            is_hidden = element.attributes.get("type", "").lower() == "hidden"
            is_named = is_hidden and attribute == "value" and name == field.name.partition("#")[0]
            if text != value or not (is_long or is_named):
                continue
            for by in ("name", "id", "property", "data-name", attribute):
                key = element.attributes.get(by, "")
                selector = f"{element.tag}[{by}]" if by == attribute else f'{element.tag}[{by}="{key}"]'
                is_plain = attribute in ("href", "action", "src", "class", "style") and by == attribute
                if (by == attribute or _SAFE.fullmatch(key)) and key != value and not is_plain:
                    yield from _numbered(Extractor(ExtractorKind.CSS, selector, attribute), value, answers)
            if attribute.startswith("data-"):
                yield from _numbered(
                    Extractor(ExtractorKind.CSS, f"{element.tag}[{attribute}]", attribute), value, answers
                )


def _of_json(value: str, field: Field, answers: Sequence[RecordedCall], is_long: bool) -> Iterator[Extractor]:
    for path, leaf in _leaves(answers[-1].response):
        name = str(path[-1]) if path else ""
        if str(leaf) != value:
            continue
        is_id = looks_dynamic(value) and not _is_flag(value, field) and bool(_ID.search(name))
        is_named = is_id or (name == field.name and field.where is not Where.PATH)
        if (is_long or is_named) and ";" not in json_path(path):  # JMeter takes it for the end of a path
            yield Extractor(ExtractorKind.JSON, json_path(path))


def _of_headers(value: str, answers: Sequence[RecordedCall], is_long: bool) -> Iterator[Extractor]:
    for answer in answers:
        for name, text in answer.response_headers:
            at = text.find(value)
            if name.lower() in ("set-cookie", "date", "content-length") or at < 0:
                continue
            is_link = name.lower() == "location" and _ends_before(text, at) and looks_dynamic(value)
            if not (is_long or is_link):
                continue
            left, right = text[:at], text[at + len(value) : at + len(value) + 1]
            if name.lower() == "location":
                # The name of a parameter, or the beginning of the path.
                left = re.split(r"[?&]", left)[-1] if "?" in left else re.sub(r"^https?://[^/]+", "", left)
                start, end = rf"[^\r\n]*?{_escaped(left)}", "&#" if "=" in left else "/?#"
            else:
                start, end = _escaped(left), right
            yield Extractor(ExtractorKind.HEADER, rf"(?i)\n{_escaped(name)}: *{start}{_up_to(end)}")


def _up_to(end: str) -> str:
    """Return the group of a regular expression for a value that ends before these characters, or at the line's end."""
    return rf"([^{_escaped(end)}\r\n]+)"


def _of_text(value: str, field: Field, answers: Sequence[RecordedCall], is_long: bool) -> Iterator[Extractor]:
    """Yield boundaries and regular expressions around the value; those that match once come first."""
    body, found = answers[-1].response, list[Extractor]()
    at = body.find(value)
    for _ in range(_MOST_PLACES):
        if at < 0:
            break
        right = body[at + len(value) : at + len(value) + 1]
        is_whole = not (body[at - 1 : at].isalnum() or right.isalnum())
        is_link = bool(
            re.search(r"""(?:href|action|src|url)["']?\s*[=:]\s*["']?[^\s"']*[/=]$""", body[max(0, at - 200) : at])
        )
        if is_whole and (is_long or (is_link and looks_dynamic(value) and field.where is not Where.HEADER)):
            for left in _lefts(body, at):
                if right and right not in "\r\n":
                    found += _numbered(Extractor(ExtractorKind.BOUNDARY, left, right), value, answers)
                found += _numbered(Extractor(ExtractorKind.REGEX, _escaped(left) + _up_to(right)), value, answers)
        at = body.find(value, at + 1)
    yield from sorted(found, key=lambda one: (one.kind is ExtractorKind.REGEX, one.number, len(one.matches(answers))))


def _numbered(extractor: Extractor, value: str, answers: Sequence[RecordedCall]) -> Iterator[Extractor]:
    found = extractor.matches(answers)
    if value in found:
        yield replace(extractor, number=found.index(value) + 1)


def _lefts(body: str, at: int) -> Iterator[str]:
    for length in _LEFTS:
        left = body[max(0, at - length) : at]
        left = re.split(r"[\r\n]", left)[-1]
        left = _OTHER_VALUE.split(left)[-1]
        left = re.sub(r"^\w*", "", left) if at > length and body[at - length - 1 : at - length + 1].isalnum() else left
        if len(left.strip()) >= 3:
            yield left


def _ends_before(text: str, at: int) -> bool:
    return text[at - 1 : at] in ("/", "=")


def _between(text: str, left: str, right: str) -> Iterator[str]:
    """Yield what JMeter's Boundary Extractor finds."""
    at = 0
    while (start := text.find(left, at)) >= 0 and (end := text.find(right, start + len(left))) >= 0:
        yield text[start + len(left) : end]
        at = end + len(right)


class _Selector(NamedTuple):
    tag: str = ""
    name: str = ""
    value: str | None = None


def _selector(text: str) -> _Selector:
    found = re.fullmatch(r'([\w-]+)\[([\w-]+)(?:="(.*)")?\]', text)
    return _Selector(found[1], found[2], found[3]) if found else _Selector()


@lru_cache(maxsize=512)
def _leaves(body: str) -> tuple[tuple[tuple[str | int, ...], str | int | float], ...]:
    return tuple(json_leaves(body))


@lru_cache(maxsize=64)
def _json_values(body: str) -> tuple[tuple[str, str], ...]:
    """Return the JSON path and the text of each leaf."""
    return tuple((json_path(path), str(value)) for path, value in _leaves(body))


def json_path(path: Sequence[str | int]) -> str:
    """Return a JSON path as JMeter reads it."""
    parts = []
    for key in path:
        is_name = isinstance(key, str) and re.fullmatch(r"[A-Za-z_]\w*", key)
        quoted = re.sub(r"(['\\])", r"\\\1", str(key))
        parts.append(f".{key}" if is_name else f"[{key}]" if isinstance(key, int) else f"['{quoted}']")
    return "$" + "".join(parts)


def _header_text(answer: RecordedCall) -> str:
    lines = (f"\n{name}: {value}" for name, value in answer.response_headers)
    return f"HTTP/1.1 {answer.status}{''.join(lines)}\n"


def _escaped(text: str) -> str:
    """Return a text as a regular expression that Python and JMeter read alike."""
    return re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\1", text)
