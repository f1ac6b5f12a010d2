"""Finds what a written plan of a recording still has of random texts, and where: they may be secrets."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from harness.base.credentials import credentials_in, looks_random

_EXPRESSION = re.compile(r"\$\{[^{}]*\}")
_TAG = re.compile(r"<[^<>]*>")
_TOKEN = re.compile(r"(?:([\w.\[\]-]+)(?:=|%3D|\"\s*:\s*\"?))?([\w+/%=~.-]{16,})")
_NAME = re.compile(r'name="([^"]*)"')
# An extractor has the text around a value, and a header manager's name is no value.
_NO_VALUE = re.compile(
    r"Extractor\.|JSONPostProcessor\.|Asserion\.|name=\"page\"|testname=|<elementProp|Argument\.name"
)
_READ_MOST = 200_000
_SHOWN_MOST = 20


class Kept(NamedTuple):
    """A random text that a file has: its line, and the name of its field if that is known."""

    file: str
    line: int
    name: str
    value: str


def kept_in(files: Mapping[str, str]) -> Iterator[Kept]:
    """Yield each random text in files of a plan once, where it is first; `files` are their texts by path."""
    seen = set[str]()
    for file, text in files.items():
        name = ""
        for number, line in enumerate(text.splitlines(), 1):
            if "<elementProp" in line:
                name = next(iter(_NAME.findall(line)), "")
            for own, value in () if _NO_VALUE.search(line) else _random_in(line):
                if value not in seen:
                    seen.add(value)
                    yield Kept(file, number, own or name, value)


def _random_in(line: str) -> Iterator[tuple[str, str]]:
    text = line
    while (shorter := _EXPRESSION.sub(" ", text)) != text:
        text = shorter
    text = html.unescape(_TAG.sub(" ", text))
    for name, token in _TOKEN.findall(text):
        plain = unquote(token)
        parts = [part for part in re.split(r"[/=]", plain) if looks_random(part)]
        if parts or (looks_random(plain) and "/" not in plain[:1]):
            yield name, parts[0] if len(parts) == 1 and len(plain) > 2 * len(parts[0]) else plain


def kept_lines(plans: Path, names: Sequence[str], known: Sequence[str] = ()) -> Iterator[str]:
    """Yield a line for each random text in files of a plan, at most 20; those in `known` are named elsewhere."""
    found = kept_in({f"plans/{name}": (plans / name).read_text(encoding="utf-8") for name in names})
    kept = [one for one in found if not any(one.value in value or value in one.value for value in known)]
    for one in kept[:_SHOWN_MOST]:
        named = f" ({one.name})" if one.name else ""
        yield f"{one.file}:{one.line}: looks random and stays in the plan{named}: check that it is no secret"
    if len(kept) > _SHOWN_MOST:
        yield f"and {len(kept) - _SHOWN_MOST} more texts that look random"


def line_of(text: str, value: str) -> int:
    """Return the line of a JMX that has a value; 0 without it."""
    spelled = {value, html.escape(value, quote=False), quote(value), quote(value, safe="@:!$'()*,;+")}
    lines = enumerate(text.splitlines(), 1)
    return next((number for number, line in lines if "<" in line and any(one in line for one in spelled)), 0)


def secrets_in_uploads(uploads: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield file and line of the first secret in each upload, which is sent as it is."""
    for file, text in uploads.items():
        found: Sequence[str] = [one.value for one in credentials_in("", text[:_READ_MOST])]
        if found:
            yield file, text[: text.find(found[0].splitlines()[0])].count("\n") + 1
