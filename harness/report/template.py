"""Fill the Markdown templates of the packages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from harness.report.first_screen import folded
from harness.report.notes import NOTES_BEGIN, NOTES_END
from harness.report.tables import in_comment

if TYPE_CHECKING:
    import jinja2

# The values that templates write into comments.
_IN_COMMENTS = ("id", "command", "made_by")


def filled(package: str, name: str, **values: object) -> str:
    """Return the text of a package's templates/<name> with the values filled in.

    Every value must be given, except notes_begin and notes_end, the marks of the notes block, and `folded`.
    """
    marks = {"notes_begin": NOTES_BEGIN, "notes_end": NOTES_END, "folded": folded}
    own = {key: in_comment(value) if key in _IN_COMMENTS else value for key, value in values.items()}
    return _templates(package).get_template(name).render({**marks, **own})


@cache
def _templates(package: str) -> jinja2.Environment:
    """Return the templates of a package; each is compiled once, at its first use."""
    from harness.base.templates import templates  # deferred: tables and JSON need no templates and must start quickly

    return templates(package, is_html=False)  # Markdown: `cell` escapes
