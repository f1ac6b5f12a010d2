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
    """Return a relative path as it was given, and of an absolute one the folder and the name: plans/shop.jmx."""
    return f"{path.parent.name}/{path.name}" if path.is_absolute() else str(path)
