"""Fill the Markdown templates of the packages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from harness.report.first_screen import folded
from harness.report.notes import NOTES_BEGIN, NOTES_END

if TYPE_CHECKING:
    import jinja2


def filled(package: str, name: str, **values: object) -> str:
    """Return the text of a package's templates/<name> with the values filled in.

    Every value must be given, except notes_begin and notes_end, the marks of the notes block, and `folded`.
    """
    marks = {"notes_begin": NOTES_BEGIN, "notes_end": NOTES_END, "folded": folded}
    return _templates(package).get_template(name).render({**marks, **values})


@cache
def _templates(package: str) -> jinja2.Environment:
    """Return the templates of a package; each is compiled once, at its first use."""
    from harness.base.templates import templates  # deferred: tables and JSON need no templates and must start quickly

    return templates(package, is_html=False)  # Markdown: `cell` escapes
