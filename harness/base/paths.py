"""Paths and commands as people read them."""

from __future__ import annotations

import os
from pathlib import Path

# A name with one of them is a pattern.
GLOB_CHARACTERS = frozenset("*?[")


def shown(path: Path) -> str:
    """Return a path as the user would type it from here."""
    return os.path.relpath(path)


def as_given(path: Path) -> str:
    """Return a path of the current folder as a user types it, of another one with its folder: plans/shop.jmx."""
    if not path.is_absolute():
        return str(path)
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return f"{path.parent.name}/{path.name}"
