"""Fill the HTML templates of the site; values are escaped."""

from __future__ import annotations

from functools import cache

import jinja2
from markupsafe import Markup


def filled(name: str, **values: object) -> Markup:
    """Return the HTML of templates/<name> with the values filled in; every value must be given."""
    return Markup(_templates().get_template(name).render(**values))


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("harness.site", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=True,
    )
