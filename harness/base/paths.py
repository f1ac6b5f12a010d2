"""Paths as people read them."""

from __future__ import annotations

import os
from pathlib import Path


def shown(path: Path) -> str:
    """Return a path as the user would type it from here."""
    return os.path.relpath(path)
