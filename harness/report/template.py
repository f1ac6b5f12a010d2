"""Fills the Markdown templates."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


def filled(name: str, **values: object) -> str:
    """Return the text of templates/<name> with the values in their places; every value must be given."""
    return _templates().get_template(name).render(**values)


@cache
def _templates() -> jinja2.Environment:
    """Return the templates; each is compiled once, at its first use."""
    import jinja2  # here, because tables and JSON need no templates and are to be quick

    return jinja2.Environment(
        loader=jinja2.PackageLoader("harness.report", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, not HTML: `cell` escapes
    )
