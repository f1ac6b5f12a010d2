"""Fill the HTML templates of the site; values are escaped."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from harness.base.templates import templates

if TYPE_CHECKING:
    import jinja2


def filled(name: str, **values: object) -> Markup:
    """Return the HTML of templates/<name> with the values filled in; every value must be given."""
    return Markup(_templates().get_template(name).render(**values))


@cache
def _templates() -> jinja2.Environment:
    return templates("harness.site", is_html=True)
