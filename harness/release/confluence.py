"""Converts a release page to the storage format of Confluence: XHTML with the macros of Confluence.

https://confluence.atlassian.com/doc/confluence-storage-format-790796544.html describes the format. Charts are images
that must be attached to the page.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cache
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from harness.compare.outcome import CANNOT_TELL, INVALID, OK, REGRESSED
from harness.release.changes import BETTER
from harness.report.verdict import DOUBTFUL, INTERRUPTED, VALID

# The colours of the status macro; a cell of a table that is one of these texts becomes a lozenge.
_COLOURS: Mapping[str, str] = {
    REGRESSED: "Red", "missed": "Red", INVALID: "Red", INTERRUPTED: "Red",
    OK: "Green", BETTER: "Green", "met": "Green", VALID: "Green",
    CANNOT_TELL: "Yellow", DOUBTFUL: "Yellow",
}  # fmt: skip
# Without a width, Confluence shows SVG images in a size of its own.
_IMAGE_WIDTH = 900
_COMMENT = re.compile(r"^<!--.*-->\n?", re.MULTILINE)
_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*:")
# Characters that XML does not allow.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TOC = '<ac:structured-macro ac:name="toc"><ac:parameter ac:name="maxLevel">2</ac:parameter></ac:structured-macro>\n'
_STATUS = Markup(
    '<ac:structured-macro ac:name="status"><ac:parameter ac:name="colour">{}</ac:parameter>'
    '<ac:parameter ac:name="title">{}</ac:parameter></ac:structured-macro>'
)
_IMAGE = Markup('<ac:image ac:alt="{}" ac:width="{}"><ri:attachment ri:filename="{}" /></ac:image>')
_PANEL_OPEN = '<ac:structured-macro ac:name="warning"><ac:rich-text-body>\n'
_PANEL_CLOSE = "</ac:rich-text-body></ac:structured-macro>\n"
_CODE = (
    '<ac:structured-macro ac:name="code"><ac:plain-text-body><![CDATA[{}]]></ac:plain-text-body>'
    "</ac:structured-macro>\n"
)


def storage_format(markdown: str) -> str:
    """Return the page in the storage format, without its title, which Confluence has apart.

    A table of contents comes first. Quotations become warning panels, code blocks code macros, verdicts in tables
    coloured lozenges. HTML in the text is escaped; relative links become text.
    """
    reader = _reader()
    tokens = reader.parse(_COMMENT.sub("", _NO_XML.sub("\ufffd", markdown)))
    title_end = next((at + 1 for at, token in enumerate(tokens) if token.type == "heading_close"), 0)
    return _TOC + str(reader.renderer.render(_placed(tokens[title_end:]), reader.options, {}))


@cache
def _reader() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "xhtmlOut": True}).enable(["table", "strikethrough"])


def _placed(tokens: Sequence[Token]) -> list[Token]:
    """Return the blocks with Confluence's macros instead of the elements of HTML."""
    result: list[Token] = []
    for token in tokens:
        if token.type == "blockquote_open":
            result.append(_html(_PANEL_OPEN))
        elif token.type == "blockquote_close":
            result.append(_html(_PANEL_CLOSE))
        elif token.type in ("fence", "code_block"):
            result.append(_html(_CODE.format(token.content.replace("]]>", "]]]]><![CDATA[>"))))
        elif token.type == "inline" and token.children:
            if result and result[-1].type == "td_open" and token.content in _COLOURS:
                token.children = [_html(_STATUS.format(_COLOURS[token.content], token.content), "html_inline")]
            else:
                token.children = _inline(token.children)
            result.append(token)
        else:
            result.append(token)
    return result


def _inline(children: Sequence[Token]) -> list[Token]:
    result: list[Token] = []
    are_links: list[bool] = []  # for each open link, whether it stays a link
    for token in children:
        if token.type == "link_open":
            are_links.append(bool(_SCHEME.match(str(token.attrGet("href")))))
            result += [token] * are_links[-1]
        elif token.type == "link_close":
            result += [token] * are_links.pop()
        elif token.type == "image":
            name = posixpath.basename(unquote(str(token.attrGet("src"))))
            result.append(_html(_IMAGE.format(token.content, _IMAGE_WIDTH, name), "html_inline"))
        else:
            result.append(token)
    return result


def _html(html: str, kind: str = "html_block") -> Token:
    return Token(kind, "", 0, content=str(html))
