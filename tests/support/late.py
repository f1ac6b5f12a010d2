"""Libraries that are imported when a test first uses them: each worker collects all tests, and one runs those."""

from __future__ import annotations

import importlib
from typing import Any


class Late:
    """A module that is not imported yet."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Import the module, and return what it has by that name: what pytest asks each object for, none has."""
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)
