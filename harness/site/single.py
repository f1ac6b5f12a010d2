"""A report as one HTML file that loads nothing: its styles, scripts, images and data are in it."""

from __future__ import annotations

import base64
import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

from markupsafe import Markup

from harness.site.html import ImageOf, filled

# Servers of mail accept attachments of several MB; a page of this size opens at once everywhere.
LIMIT_BYTES = 1_000_000
# Of a page that would be too large, tables have this many rows: the first number that suffices.
_ROWS_MOST = (1_000, 300, 100, 30)
_TABLE_BODY = re.compile(r"<tbody>\n(.*?)</tbody>", re.DOTALL)
_ROW = re.compile(r"<tr>.*?</tr>\n", re.DOTALL)
_KINDS = {".svg": "image/svg+xml", ".png": "image/png"}


def single_page(title: str, body: Markup, style: str, scripts: Sequence[str], *, connects: bool = False) -> str:
    """Return the page of a report. Only these scripts and this style run in it, whatever a label contains.

    With `connects` its scripts may connect to the server that sent it.
    """
    return str(
        filled(
            "single.html.j2",
            title=title,
            body=body,
            style=Markup(style),
            scripts=[Markup(script) for script in scripts],
            style_hash=_hash(style),
            script_hashes=[_hash(script) for script in scripts],
            connects=connects,
        )
    )


def embedded(images: Mapping[str, bytes], charts: frozenset[str]) -> ImageOf:
    """Return what puts images into the HTML of a report.

    `images` are SVG and PNG files by their path from the report's folder; an image that is not among them becomes its
    text. The images whose names are in `charts` become charts that can be zoomed, and the image is what is printed and
    shown without JavaScript.
    """

    def image_of(source: str, text: str) -> Markup | None:
        path = posixpath.normpath(unquote(source))
        if path not in images:
            return None
        key, extension = posixpath.splitext(posixpath.basename(path))
        address = f"data:{_KINDS[extension]};base64,{base64.b64encode(images[path]).decode()}"
        if key not in charts:
            return Markup('<img class="picture" src="{}" alt="{}">').format(address, text)
        return Markup(
            '<figure class="chart" data-chart="{}"><figcaption>{}</figcaption>'
            '<img class="still" src="{}" alt=""></figure>\n'
        ).format(key, text, address)

    return image_of


def smaller(body: Markup, report_name: str) -> Iterator[Markup]:
    """Yield the body, and then bodies that are smaller and smaller.

    First the images of charts that are drawn anyway are left out, then the rows of long tables, with a last row that
    names the report that has them.
    """
    yield body
    yield _without_stills(body)
    for rows_most in _ROWS_MOST:
        yield _cut(body, rows_most, report_name)
    yield _cut(_without_stills(body), _ROWS_MOST[-1], report_name)


def _without_stills(body: Markup) -> Markup:
    return Markup(re.sub(r'<img class="still" [^>]*>', "", str(body)))


def _cut(body: Markup, rows_most: int, report_name: str) -> Markup:
    """Return a body whose tables have at most this many rows, and TOTAL."""

    def cut(match: re.Match[str]) -> str:
        rows = _ROW.findall(match[1])
        if len(rows) <= rows_most + 1:
            return match[0]
        total = rows[-1:] if "<td>TOTAL</td>" in rows[-1] else []
        count = len(rows) - rows_most - len(total)
        width = rows[0].count("<td")
        note = Markup('<tr><td colspan="{}">{} more rows: see {}</td></tr>\n').format(width, count, report_name)
        return "<tbody>\n" + "".join([*rows[:rows_most], str(note), *total]) + "</tbody>"

    return Markup(_TABLE_BODY.sub(cut, str(body)))


def _hash(text: str) -> str:
    """Return the hash by which the content security policy of a page names a script or a style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
