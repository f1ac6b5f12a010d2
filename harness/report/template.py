"""Fill the Markdown templates of the packages."""

from __future__ import annotations


def filled(package: str, name: str, **values: object) -> str:
    """Return the text of a package's templates/<name> with the values filled in; every value must be given."""
    import jinja2  # deferred: tables and JSON need no templates and must start quickly

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package, "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, not HTML: `cell` escapes
    )
    return environment.get_template(name).render(**values)
