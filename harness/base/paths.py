"""Paths and commands as people read them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from harness.base.project import CHECKOUT

# A name with one of them is a pattern.
GLOB_CHARACTERS = frozenset("*?[")


def tool_command(*words: str) -> str:
    """Return a command of the tool as the user would type it from here: lth …, or aggregate.py of the checkout."""
    if CHECKOUT is None:
        return shlex.join(["lth", *words])
    program = os.path.relpath(CHECKOUT / "aggregate.py")
    return shlex.join([program if "/" in program else f"./{program}", *words])


def shown(path: Path) -> str:
    """Return a path as the user would type it from here."""
    return os.path.relpath(path)
