"""Reads what a plan needs of an HTML page: title, forms, and elements with their attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

# Types of fields in which a person writes; an input without a type is one of text.
_TYPED = frozenset(
    ("", "text", "email", "password", "search", "tel", "number", "url", "date", "time", "datetime-local", "month")
)


# The parser reads what is behind a tag or comment without an end again and again.
_REST_MOST = 10_000


class Element(NamedTuple):
    """A start tag with its attributes; `form` is the index of its form, -1 outside of one."""

    tag: str
    attributes: Mapping[str, str]
    form: int


@dataclass
class Form:
    """A form: the texts of its buttons by their name=value, and the inputs by name."""

    action: str
    buttons: dict[tuple[str, str], str] = field(default_factory=dict)
    inputs: dict[str, Element] = field(default_factory=dict)


class RecordedPage(HTMLParser):
    """An HTML page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.title = ""
        self.elements: list[Element] = []
        self.forms: list[Form] = []
        self._form = -1
        self._text_of = ""
        self._button: tuple[str, str] | None = None
        with suppress(AssertionError):  # Python's parser ends so at some declarations; what is before them is known
            self.feed(text)
            if len(self.rawdata) < _REST_MOST:
                self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element."""
        attributes = {name: value or "" for name, value in reversed(attrs)}
        if tag == "form":
            self.forms.append(Form(attributes.get("action", "")))
            self._form = len(self.forms) - 1
        element = Element(tag, attributes, self._form)
        self.elements.append(element)
        kind, name = attributes.get("type", "").lower(), attributes.get("name", "")
        if tag in ("title", "button"):
            self._text_of = tag
        if self._form < 0:
            return
        form = self.forms[self._form]
        if tag == "button" and kind not in ("button", "reset"):
            self._button = (name, attributes.get("value", ""))
            if self._button in form.buttons:
                self._button = (name, f"{len(form.buttons)}")  # buttons without names
            form.buttons[self._button] = ""
        elif tag == "input" and kind == "submit":
            form.buttons[name, attributes.get("value", "")] = attributes.get("value", "")
        elif tag in ("input", "textarea", "select") and name:
            form.inputs.setdefault(name, element)

    def handle_endtag(self, tag: str) -> None:
        """End a form, a title or a button."""
        if tag == "form":
            self._form = -1
        if tag == self._text_of:
            self._text_of, self._button = "", None

    def handle_data(self, data: str) -> None:
        """Take the text of the title or of a button."""
        if self._text_of == "title" and not self.title:
            self.title = " ".join(data.split())
        elif self._text_of == "button" and self._button and self._form >= 0:
            self.forms[self._form].buttons[self._button] += " ".join(data.split())


@lru_cache(maxsize=512)
def read_page(text: str) -> RecordedPage:
    """Return the page in a response; an empty one for a response that is no HTML."""
    return RecordedPage(text if "<" in text[:2000] and text.lstrip()[:1] != "{" else "")


def joined_url(base: str, url: str) -> str:
    """Return the URL of a link on a page; empty for a text that is no URL."""
    try:
        joined = urljoin(base, url)
        urlsplit(joined)
    except ValueError:
        return ""
    return joined


def is_typed(element: Element) -> bool:
    """Return whether a person writes into a field."""
    return element.tag == "textarea" or (
        element.tag == "input" and element.attributes.get("type", "").lower() in _TYPED
    )


def matching(page: RecordedPage, tag: str, attribute: str, value: str | None) -> Iterator[Element]:
    """Yield the elements that the CSS selector tag[attribute="value"] finds, or tag[attribute] without a value."""
    for element in page.elements:
        if element.tag == tag and attribute in element.attributes and value in (None, element.attributes[attribute]):
            yield element
