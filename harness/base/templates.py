"""Makes environments of Jinja templates, whose compiled form is stored for later processes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

from harness.base.plain_text import without_control
from harness.base.project import BUILD


class CompiledTemplates(jinja2.FileSystemBytecodeCache):
    """Stores compiled templates in a folder for later processes; where nothing can be written, each compiles its own.

    A file is replaced whole, so several processes can share the folder, and has the hash of its template.
    """

    def __init__(self, folder: Path, form: str) -> None:
        """`form` names what the compiled code depends on besides the template."""
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        super().__init__(str(folder), f"%s-{form}")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load a compiled template, if it is stored."""
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store a compiled template, if possible."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


def _plain(value: object) -> object:
    return without_control(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def templates(package: str, *, is_html: bool) -> jinja2.Environment:
    """Return the templates of a package, in its folder templates/; values in HTML are escaped.

    No value controls a terminal or the direction of text, but for those that are `safe`, such as notes.
    """
    form = f"{jinja2.__version__}-{'page' if is_html else 'plain'}"
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package, "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=is_html,
        finalize=_plain,
        bytecode_cache=CompiledTemplates(BUILD / "templates", form),
    )
