"""Paths and commands as people read them."""

from __future__ import annotations

import os
from pathlib import Path

# A name with one of them is a pattern.
GLOB_CHARACTERS = frozenset("*?[")


def shown(path: Path) -> str:
    """Return a path as the user would type it from here."""
    return os.path.relpath(path)
