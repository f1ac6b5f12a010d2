"""Makes safe HTML of templates and of the Markdown of reports, in which only addresses of the site are loaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import jinja2
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape
from mdit_py_plugins.footnote import footnote_plugin

from harness.base.templates import templates
from harness.report.profiles import ANCHOR

# The target of a link on the site, and the replacement of an image; None if the site has no such file.
LinkOf = Callable[[str], "str | None"]
ImageOf = Callable[[str, str], "Markup | None"]
# Comments, which GitHub hides, too: how a report was made, the marks of its notes block.
_COMMENT = re.compile(r"^<!--.*-->\n?", re.MULTILINE)
# Sections that are linked: by the page itself, and by those of nightlies and A/B tests.
_ANCHORS = {"Warnings": "warnings", "Where the time went": ANCHOR}
# The lines that begin and end a folded part of a report; a label cannot contain them, because its `<` is escaped.
FOLD = re.compile("<details><summary>(.+)</summary>|</details>")
_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*:")


def filled(name: str, package: str = "harness.site", **values: object) -> Markup:
    """Return the HTML of a package's templates/<name> with the values filled in; every value must be given."""
    return Markup(_templates(package).get_template(name).render(**values))


@cache
def _templates(package: str) -> jinja2.Environment:
    return templates(package, is_html=True)


class Prose(NamedTuple):
    """The HTML of Markdown: what is before its first section or folded part, and the rest."""

    head: Markup
    sections: Markup


def prose(markdown: str, link_of: LinkOf, image_of: ImageOf) -> Markup:
    """Return the HTML of Markdown, see `prose_parts`."""
    return Markup("").join(prose_parts(markdown, link_of, image_of))


def prose_parts(markdown: str, link_of: LinkOf, image_of: ImageOf, image_of_sections: ImageOf | None = None) -> Prose:
    """Return the HTML of Markdown with its tables and footnotes.

    `link_of` gets every relative link; a link that it does not know becomes plain text. `image_of` gets the address and
    the alternative text of every image, `image_of_sections` those behind the head if it is another one; an image that
    is not known becomes this text.
    """
    reader = _reader()
    tokens = reader.parse(_COMMENT.sub("", markdown))
    first = next((at for at, _ in enumerate(tokens) if _begins_section(tokens, at)), len(tokens))
    head = _placed(tokens[:first], link_of, image_of)
    sections = _placed(tokens[first:], link_of, image_of_sections or image_of)
    return Prose(*(Markup(reader.renderer.render(part, reader.options, {})) for part in (head, sections)))


def _begins_section(tokens: Sequence[Token], at: int) -> bool:
    token = tokens[at]
    is_fold = token.type == "paragraph_open" and FOLD.fullmatch(tokens[at + 1].content)
    return bool(is_fold) or (token.type == "heading_open" and token.tag == "h2")


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).use(footnote_plugin)
    reader.add_render_rule("footnote_caption", _caption)
    return reader


def _caption(_self: object, tokens: Sequence[Token], index: int, _options: object, _env: object) -> str:
    # The caption of the plugin counts the references to a footnote: [4:1].
    return f"[{int(tokens[index].meta['id']) + 1}]"


def _placed(tokens: Sequence[Token], link_of: LinkOf, image_of: ImageOf) -> list[Token]:

    def link_or_anchor(href: str) -> str | None:
        return href if href.startswith("#") else link_of(href)

    result: list[Token] = []
    for index, token in enumerate(tokens):
        if token.type == "table_open":
            result += [_html('<div class="scroll" tabindex="0" role="region" aria-label="table">'), token]
        elif token.type == "table_close":
            result += [token, _html("</div>")]
        elif token.type == "heading_open" and (name := _ANCHORS.get(tokens[index + 1].content)):
            token.attrs["id"] = name
            result.append(token)
        elif token.type in ("th_open", "td_open") and token.attrs.pop("style", "") == "text-align:right":
            token.attrs["class"] = "figure"  # the content security policy forbids inline styles
            result.append(token)
        elif token.type == "inline" and (fold := FOLD.fullmatch(token.content)):
            result[-1] = _html(_fold(fold[1]))
        elif token.type == "inline" and token.children:
            first = token.children[0]
            is_image = first.type == "image" and len(token.children) == 1
            figure = image_of(str(first.attrGet("src")), first.content) if is_image else None
            if figure is not None and result[-1].type == "paragraph_open":
                # An image alone in a paragraph becomes a block, which a paragraph must not contain.
                result[-1] = _html(str(figure))
                continue
            token.children = inline(token.children, link_or_anchor, image_of)
            result.append(token)
        elif token.type == "paragraph_close" and result[-1].type == "html_block":
            continue
        else:
            result.append(token)
    return result


def inline(children: Sequence[Token], link_of: LinkOf, image_of: ImageOf) -> list[Token]:
    """Return the tokens of a line with the targets of `link_of` for links without a scheme, and with its images."""
    result: list[Token] = []
    stays: list[bool] = []  # for each open link, whether it stays a link
    for token in children:
        if token.type == "link_open":
            href = str(token.attrGet("href"))
            # The parser itself removes javascript: and similar addresses.
            target = href if _SCHEME.match(href) else link_of(href)
            stays.append(target is not None)
            if target is not None:
                token.attrSet("href", target)
                result.append(token)
        elif token.type == "link_close":
            if stays.pop():
                result.append(token)
        elif token.type == "image":
            figure = image_of(str(token.attrGet("src")), token.content)
            kind, content = ("text", token.content) if figure is None else ("html_inline", str(figure))
            result.append(Token(kind, "", 0, content=content))
        else:
            result.append(token)
    return result


def _fold(title: str | None) -> str:
    """Return the HTML that begins a folded part with a title, or ends one."""
    if title is None:
        return "</details>\n"
    # A link to what is inside opens the part.
    anchor = f'<span id="{_ANCHORS[title]}"></span>\n' if title in _ANCHORS else ""
    return f"<details><summary>{escape(title)}</summary>\n{anchor}"


def _html(html: str) -> Token:
    return Token("html_block", "", 0, content=html)
