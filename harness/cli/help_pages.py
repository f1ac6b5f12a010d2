"""Prints the pages of docs/, or a section of one, as plain text: `lth help project`, `lth help goals`.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.project import SHIPPED

TOPICS = "topics"
# Pages that have another name than one would look for.
_OTHER_NAMES = {
    "jmeter": "from-jmeter", "k6": "other-tools", "gatling": "other-tools", "locust": "other-tools", "json": "json",
    "make": "in-a-clone", "clone": "in-a-clone", "variables": "environment-variables", "loadtest.toml": "project",
    "kubernetes": "containers", "docker": "containers", "github": "ci", "gitlab": "ci", "s3": "storage",
    "junit": "ci", "percentile": "the-tables", "percentiles": "the-tables", "exit-code": "exit-codes",
}  # fmt: skip
_PAGES_MOST = 5
_WIDTH, _FIRST_CELL_MOST = 80, 34
_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
_FENCE = "```"
# Brackets within the text of a link are at most two deep, as in [`[[load]]`](…).
_LINK = r"!?\[(?P<link>(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*)\]\([^)]*\)"
_TAGS = r"</?(?:details|summary|br|sub|sup)\b[^>]*>"
_INLINE = re.compile(rf"{_LINK}|\*\*(?P<bold>[^*]+)\*\*|\[\^\d+\]:?|{_TAGS}", re.DOTALL)
_CELLS = re.compile(r"(?<!\\)\|")


class _Section(NamedTuple):
    """A heading of a page with what is below it, up to the next heading of its level."""

    slug: str
    title: str
    markdown: str


def page_text(topic: str) -> str:
    """Return a page, or the section that has such a heading, wrapped to 80 columns; UsageError for no such topic.

    A page whose name is also that of a verb is asked for with its ending, as in `lth help ab.md`.
    """
    if topic == TOPICS:
        return "\n".join(f"{name:<28}{title}" for name, title in _titles())
    name = topic.lower().removeprefix("docs/").removesuffix(".md").replace(" ", "-")
    name = _OTHER_NAMES.get(name, name)
    pages = _pages()
    if name in pages:
        return _plain(pages[name].read_text(encoding="utf-8"))
    sections = [section for page in pages.values() for section in _sections(page.read_text(encoding="utf-8"))]
    for fits in (name.__eq__, lambda slug: slug.startswith(f"{name}-"), lambda slug: f"-{name}-" in f"-{slug}-"):
        for section in sections:
            if fits(section.slug):
                return _plain(section.markdown)
    words = re.compile(rf"\b{re.escape(topic)}\b", re.IGNORECASE)
    if there := [one for one, page in pages.items() if words.search(page.read_text(encoding="utf-8"))]:
        more = ", …" if len(there) > _PAGES_MOST else ""
        what = f"{topic}: no page of this name; it is in the pages {', '.join(there[:_PAGES_MOST])}{more}"
        raise UsageError(what, f"lth help {there[0]} prints one")
    near = did_you_mean(name, [*pages, *(section.slug for section in sections)])
    raise UsageError(
        f"{topic}: no such verb or page", f"{near}lth help {TOPICS} lists the pages, lth help all the verbs"
    )


def _pages() -> dict[str, Path]:
    """Return the pages by name, in the order of the index, which is none itself."""
    docs = SHIPPED / "docs"
    index = (docs / "README.md").read_text(encoding="utf-8")
    found = {path.stem: path for path in docs.glob("*.md") if path.name != "README.md"}
    listed = dict.fromkeys(re.findall(r"\]\(([\w-]+)\.md\)", index))
    return {**{name: found[name] for name in listed if name in found}, "plans": SHIPPED / "plans" / "README.md"}


def _titles() -> Iterator[tuple[str, str]]:
    for name, path in _pages().items():
        match = _HEADING.search(path.read_text(encoding="utf-8"))
        yield name, _inline(match[2]) if match else ""


def _sections(markdown: str) -> Iterator[_Section]:
    text = re.sub(
        r"^```.*?^```", lambda block: block[0].replace("\n#", "\n\0"), markdown, flags=re.DOTALL | re.MULTILINE
    )
    headings = list(_HEADING.finditer(text))
    for heading in headings:
        later = (one.start() for one in headings if one.start() > heading.start() and len(one[1]) <= len(heading[1]))
        title = _inline(heading[2])
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        yield _Section(slug, title, markdown[heading.start() : next(later, len(text))])


def _plain(markdown: str) -> str:
    lines = re.sub(r"<!--.*?-->\n?", "", markdown, flags=re.DOTALL).strip().splitlines()
    blocks: list[str] = []
    kinds = _kinds(lines)
    for kind, pairs in groupby(zip(kinds, lines, strict=True), lambda pair: pair[0]):
        content = [line for _, line in pairs]
        if kind == "code":
            blocks.append("\n".join(f"  {line}" for line in content if not line.lstrip().startswith(_FENCE)))
        elif kind == "table":
            blocks.append("\n".join(_table(content)))
        elif kind == "heading":
            blocks += [_inline(line.lstrip("#").strip()).upper() for line in content]
        elif kind == "list":
            blocks.append("\n".join(_items(content)))
        elif kind == "text":
            blocks.append(_filled(_inline(" ".join(content))))
    return "\n\n".join(filter(None, blocks))


def _kinds(lines: Sequence[str]) -> Iterator[str]:
    """Yield what each line is; the lines of a list's item belong to the list."""
    is_code, before = False, ""
    for line in lines:
        is_fence = line.lstrip().startswith(_FENCE)
        if is_fence or is_code:
            is_code, before = is_code != is_fence, "code"
        elif not line.strip():
            before = "blank"
        elif line.startswith("|"):
            before = "table"
        elif line.startswith("#"):
            before = "heading"
        elif re.match(r" *([-*]|\d+\.) ", line) or (before == "list" and line.startswith(" ")):
            before = "list"
        else:
            before = "text"
        yield before


def _table(lines: Sequence[str]) -> Iterator[str]:
    """Yield the rows of a table: the cells before the last one in columns, the last one wrapped."""
    rows = [[_inline(cell).strip() for cell in _CELLS.split(line.strip().strip("|"))] for line in lines]
    rows = [row for row in rows if any(re.search(r"[^-: ]", cell) for cell in row)]
    if not rows:
        return
    first = [
        max((len(row[column]) for row in rows if column < len(row)), default=0) for column in range(len(rows[0]) - 1)
    ]
    widths = [min(width, _FIRST_CELL_MOST) for width in first]
    indent = min(sum(widths) + 2 * len(widths), _WIDTH // 2)
    for row in rows:
        start = "  ".join(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False))
        start = f"{start}  " if start else ""
        if len(start) > indent:
            yield start.rstrip()
            start = " " * indent
        yield _filled(f"{start}{row[-1]}", " " * indent) if len(start) <= indent else row[-1]


def _items(lines: Sequence[str]) -> Iterator[str]:
    text = ""
    for line in lines:
        if re.match(r" *([-*]|\d+\.) ", line):
            if text:
                yield _filled(_inline(text), "  ")
            text = line.strip()
        else:
            text += f" {line.strip()}"
    yield _filled(_inline(text), "  ")


def _inline(text: str) -> str:
    shown = _INLINE.sub(lambda match: match["link"] or match["bold"] or "", text)
    return shown.replace("\\|", "|").replace("&lt;", "<").replace("&gt;", ">").replace("`", "")


def _filled(text: str, hang: str = "") -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent=hang, break_on_hyphens=False, break_long_words=False,
                         drop_whitespace=True)  # fmt: skip
