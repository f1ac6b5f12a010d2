"""Finds the packed beginning of a file that still grows: `samples.jtl` of a long run, packed while the run lasts.

Beside it are `samples.jtl.gz` with its first rows and `samples.jtl.packed`, the index, which says how many bytes of
both belong together. Bytes of the packed file beyond the index are not valid yet; the first bytes of the file itself
are a hole. harness/run/packing.py writes them, and explains why no row is lost or doubled.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.regular import regular
from harness.base.strict_json import parse_object

PACKED, _INDEX = ".gz", ".packed"
_PARTS = tuple(f".jtl{suffix}" for suffix in (PACKED, _INDEX))


@dataclass(frozen=True)
class Beginning:
    """The first `packed_bytes` of the gzip file `packed` replace the first `text_bytes` of a growing file."""

    packed: Path
    packed_bytes: int
    text_bytes: int

    def to_json(self) -> str:
        """Return the text of the index."""
        return json.dumps({"format_version": 1, "packed_bytes": self.packed_bytes, "text_bytes": self.text_bytes})


def packed_path(path: Path) -> Path:
    """Return the path of the packed file of a JTL."""
    return path.with_name(path.name + PACKED)


def index_path(path: Path) -> Path:
    """Return the path of the index of a JTL."""
    return path.with_name(path.name + _INDEX)


def is_part(name: str) -> bool:
    """Return whether a file has this name because a JTL was packed; its secrets were masked before."""
    return name.endswith(_PARTS)


def beginning_of(path: Path) -> Beginning | None:
    """Return the packed beginning of a file; None for a file that is whole. UsageError for a damaged index."""
    if path.suffix != ".jtl":
        return None
    index = index_path(path)
    try:
        data = parse_object(regular(index).read_bytes())
        if data["format_version"] != 1:
            raise ValueError("another version")
        return Beginning(packed_path(path), int(data["packed_bytes"]), int(data["text_bytes"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        todo = f"without it nobody knows which rows of {path.name} are in {packed_path(path).name}: restore it"
        raise UsageError(f"{index}: not the index of a packed JTL", todo) from None
