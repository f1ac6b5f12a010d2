"""Makes the storage format of Confluence of a page in Markdown.

It has only elements and macros that Confluence documents ("Confluence Storage Format", Data Center 9.1): a table has
one tbody, and a paragraph aligns a cell. tests/release/test_formats.py has the list.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from harness.compare.comparison import BETTER, CANNOT_TELL, INVALID, OK, REGRESSED
from harness.judge.verdict import DOUBTFUL, INTERRUPTED, VALID
from harness.site.html import FOLD, inline

# The colours of the status macro; a cell of a table that is one of these texts becomes a lozenge.
_COLOURS: Mapping[str, str] = {
    REGRESSED: "Red", "missed": "Red", INVALID: "Red", INTERRUPTED: "Red",
    OK: "Green", BETTER: "Green", "met": "Green", VALID: "Green",
    CANNOT_TELL: "Yellow", DOUBTFUL: "Yellow",
}  # fmt: skip
# Without a width, Confluence chooses the size of SVG images.
_IMAGE_WIDTH = 900
_COMMENT = re.compile(r"^<!--.*-->\n?", re.MULTILINE)
# Characters that XML does not allow.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MACRO = '<ac:structured-macro ac:name="{}">'
_END = "</ac:structured-macro>"
_PARAMETER = '<ac:parameter ac:name="{}">{}</ac:parameter>'
_TOC = f"{_MACRO.format('toc')}{_PARAMETER.format('maxLevel', 2)}{_END}\n"
_STATUS = Markup(
    f"{_MACRO.format('status')}{_PARAMETER.format('colour', '{}')}{_PARAMETER.format('title', '{}')}{_END}"
)
_IMAGE = Markup('<ac:image ac:alt="{}" ac:width="{}"><ri:attachment ri:filename="{}" /></ac:image>')
_BODY, _BODY_END = "<ac:rich-text-body>\n", f"</ac:rich-text-body>{_END}\n"
_EXPAND = Markup(f"{_MACRO.format('expand')}{_PARAMETER.format('title', '{}')}{_BODY}")
_CODE = f"{_MACRO.format('code')}<ac:plain-text-body><![CDATA[{{}}]]></ac:plain-text-body>{_END}\n"
# What replaces the tags of a block; a table has the rows of its head in its only body.
_BLOCKS = {
    "blockquote_open": _MACRO.format("warning") + _BODY, "blockquote_close": _BODY_END,
    "thead_open": "<tbody>\n", "thead_close": "", "tbody_open": "", "tbody_close": "",
    "table_close": "</tbody>\n</table>\n",
}  # fmt: skip
_RIGHT = '<p style="text-align: right;">'


def storage_format(markdown: str) -> str:
    """Return the page in the storage format, without its title, which Confluence has apart.

    A table of contents comes first. Quotations become warning panels, code blocks code macros, verdicts in tables
    coloured lozenges, folded parts expand macros. HTML in the text is escaped; relative links become text.
    """
    reader = MarkdownIt("commonmark", {"html": False, "xhtmlOut": True}).enable(["table", "strikethrough"])
    tokens = reader.parse(_COMMENT.sub("", _NO_XML.sub("\ufffd", markdown)))
    title_end = next((at + 1 for at, token in enumerate(tokens) if token.type == "heading_close"), 0)
    return _TOC + str(reader.renderer.render(_placed(tokens[title_end:]), reader.options, {}))


def _placed(tokens: Sequence[Token]) -> list[Token]:
    """Return the blocks with Confluence's macros instead of the elements of HTML."""
    result: list[Token] = []
    is_right = False
    for token in tokens:
        if token.type in _BLOCKS:
            token = _html(_BLOCKS[token.type])
        elif token.type in ("fence", "code_block"):
            token = _html(_CODE.format(token.content.replace("]]>", "]]]]><![CDATA[>")))
        elif token.type in ("td_open", "th_open"):
            is_right = token.attrs.pop("style", "") == "text-align:right"
        elif token.type == "inline" and (fold := FOLD.fullmatch(token.content)):
            # The tags of its paragraph are left out.
            result[-1] = _html(_EXPAND.format(fold[1]) if fold[1] else _BODY_END)
            continue
        elif token.type == "paragraph_close" and result[-1].type == "html_block":
            continue
        elif token.children:
            is_cell = result[-1].type in ("td_open", "th_open")
            if is_cell and token.content in _COLOURS:
                token.children = [_html(_STATUS.format(_COLOURS[token.content], token.content), "html_inline")]
            else:
                token.children = inline(token.children, lambda _: None, _image)
            if is_cell and is_right:
                token.children = [_html(_RIGHT, "html_inline"), *token.children, _html("</p>", "html_inline")]
        result.append(token)
    return result


def _image(address: str, text: str) -> Markup:
    name = posixpath.basename(unquote(address))
    return _IMAGE.format(text, _IMAGE_WIDTH, name)


def _html(html: str, kind: str = "html_block") -> Token:
    return Token(kind, "", 0, content=str(html))
