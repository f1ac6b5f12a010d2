"""Reads metrics from the JSON files that a plan saves in the run directory, such as KillBill's own metrics."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.plan.plan import Dump


def read_figures(directory: Path, dumps: Sequence[Dump]) -> tuple[tuple[str, str], ...]:
    """Return (label, value) for every dump; a missing value is reported as unknown, never as 0."""
    return tuple((dump.label, _figure(directory / dump.file, dump.path)) for dump in dumps)


def _figure(path: Path, keys: Sequence[str]) -> str:
    try:
        value: Any = json.loads(path.read_text(encoding="utf-8"))
        for key in keys:
            value = value[key]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return f"not known ({path.name} does not contain it)"
    return str(value)
