"""Fills the Markdown templates."""

from __future__ import annotations


def filled(name: str, **values: object) -> str:
    """Return the text of templates/<name> with the values in their places; every value must be given."""
    import jinja2  # here, because tables and JSON need no templates and are to be quick

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("harness.report", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, not HTML: `cell` escapes
    )
    return environment.get_template(name).render(**values)
