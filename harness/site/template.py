"""Fill the HTML templates of the site; values are escaped."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from harness.base.templates import templates

if TYPE_CHECKING:
    import jinja2


def filled(name: str, package: str = "harness.site", **values: object) -> Markup:
    """Return the HTML of a package's templates/<name> with the values filled in; every value must be given."""
    return Markup(_templates(package).get_template(name).render(**values))


@cache
def _templates(package: str) -> jinja2.Environment:
    return templates(package, is_html=True)
