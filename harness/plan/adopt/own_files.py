"""Says which files of this machine a JMX or an OpenAPI file of somebody else may name, so that they are read."""

from __future__ import annotations

from pathlib import Path

from harness.base.secrets import FILE_NAME


def top_of(path: Path) -> Path:
    """Return the folder below which a file may name others: its git work tree, or its own folder."""
    real = path.resolve()
    tree = next((folder for folder in real.parents if (folder / ".git").exists()), real.parent)
    # A home that is a work tree has keys and settings, too.
    return real.parent if tree in (Path.home().resolve(), Path(real.anchor)) else tree


def is_own(path: Path, named_in: Path) -> bool:
    """Return whether a file may be read for another one, which names it: no hidden one, and no secrets."""
    real, folder = path.resolve(), named_in.resolve().parent
    top = folder if real.is_relative_to(folder) else top_of(named_in)
    if not real.is_relative_to(top) or real.name == FILE_NAME:
        return False
    return not any(part.startswith(".") for part in real.relative_to(top).parts)
