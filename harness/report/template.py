"""Fills the Markdown templates."""

from __future__ import annotations


def filled(name: str, **values: object) -> str:
    """Return the text of templates/<name> with the values inserted; every value must be given."""
    import jinja2  # deferred: tables and JSON need no templates and must be fast

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("harness.report", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, not HTML: `cell` escapes
    )
    return environment.get_template(name).render(**values)
