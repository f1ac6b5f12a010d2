"""Fill the Markdown templates of the packages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


def filled(package: str, name: str, **values: object) -> str:
    """Return the text of a package's templates/<name> with the values filled in; every value must be given."""
    return _templates(package).get_template(name).render(**values)


@cache
def _templates(package: str) -> jinja2.Environment:
    """Return the templates of a package; each is compiled once, at its first use."""
    from harness.base.templates import templates  # deferred: tables and JSON need no templates and must start quickly

    return templates(package, is_html=False)  # Markdown: `cell` escapes
