"""A report's Markdown as HTML that cannot act: no HTML of its own, no address but the site's own is ever loaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from mdit_py_plugins.footnote import footnote_plugin

# Where a link leads on the site, and what stands in the place of an image; None where there is no such thing.
LinkOf = Callable[[str], "str | None"]
ImageOf = Callable[[str, str], "Markup | None"]
# What GitHub hides, too: the lines about how a report was made, the marks of its notes block.
_COMMENT = re.compile(r"^<!--.*-->\n?", re.MULTILINE)
_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*:")


def prose(markdown: str, link_of: LinkOf, image_of: ImageOf) -> Markup:
    """Return the HTML of Markdown with its tables and footnotes.

    `link_of` is asked for every relative link, and one that it does not know becomes plain text. `image_of` is asked
    for the address and the words of every image; one that it does not know becomes its words.
    """
    reader = _reader()
    tokens = _placed(reader.parse(_COMMENT.sub("", markdown)), link_of, image_of)
    return Markup(reader.renderer.render(tokens, reader.options, {}))


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).use(footnote_plugin)
    reader.add_render_rule("footnote_caption", _caption)
    return reader


def _caption(_self: object, tokens: Sequence[Token], place: int, _options: object, _env: object) -> str:
    # The plugin's own counts the places that point at a footnote: [4:1].
    return f"[{int(tokens[place].meta['id']) + 1}]"


def _placed(tokens: Sequence[Token], link_of: LinkOf, image_of: ImageOf) -> list[Token]:
    result: list[Token] = []
    for token in tokens:
        if token.type == "table_open":
            result += [_html('<div class="scroll" tabindex="0" role="region" aria-label="table">'), token]
        elif token.type == "table_close":
            result += [token, _html("</div>")]
        elif token.type in ("th_open", "td_open") and token.attrs.pop("style", "") == "text-align:right":
            token.attrs["class"] = "figure"  # a style of its own would not be allowed to act
            result.append(token)
        elif token.type == "inline" and token.children:
            figure = _figure(token.children, image_of)
            if figure is not None and result[-1].type == "paragraph_open":
                # An image that is a paragraph of its own becomes a block, which a paragraph must not hold.
                result[-1] = _html(str(figure))
                continue
            token.children = _inline(token.children, link_of, image_of)
            result.append(token)
        elif token.type == "paragraph_close" and result[-1].type == "html_block":
            continue
        else:
            result.append(token)
    return result


def _figure(children: Sequence[Token], image_of: ImageOf) -> Markup | None:
    if len(children) != 1 or children[0].type != "image":
        return None
    return image_of(str(children[0].attrGet("src")), children[0].content)


def _inline(children: Sequence[Token], link_of: LinkOf, image_of: ImageOf) -> list[Token]:
    result: list[Token] = []
    kept: list[bool] = []  # of the links that are open, whether they stay links
    for token in children:
        if token.type == "link_open":
            target = _target(str(token.attrGet("href")), link_of)
            kept.append(target is not None)
            if target is not None:
                token.attrSet("href", target)
                result.append(token)
        elif token.type == "link_close":
            if kept.pop():
                result.append(token)
        elif token.type == "image":
            figure = image_of(str(token.attrGet("src")), token.content)
            result.append(_html(str(figure), "html_inline") if figure is not None else _text(token.content))
        else:
            result.append(token)
    return result


def _target(href: str, link_of: LinkOf) -> str | None:
    # The reader itself takes out javascript: and the like.
    if href.startswith("#") or _SCHEME.match(href):
        return href
    return link_of(href)


def _html(html: str, kind: str = "html_block") -> Token:
    return Token(kind, "", 0, content=html)


def _text(words: str) -> Token:
    return Token("text", "", 0, content=words)
