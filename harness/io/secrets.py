"""The secrets that a plan names: where they come from, and that none of them is kept."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from harness.config import load_toml
from harness.errors import UsageError

FILE_NAME = "secrets.toml"
MASK = "•••".encode()
# Shorter ones stand in any text by chance.
_LEAST_LENGTH = 4


def find_secrets(names: Iterable[str], given: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return the values by name: those `given`, else of environment variables, else of secrets.toml in `home`.

    UsageError names those that are nowhere, and those too short to be masked.
    """
    path = home / FILE_NAME
    kept = load_toml(path, "the file of secrets", path.stem) if path.is_file() else {}
    values = {name: given.get(name) or os.environ.get(name) or str(kept.get(name, "")) for name in names}
    missing = [name for name, value in values.items() if not value]
    if missing:
        raise UsageError(
            f"the plan needs {', '.join(missing)}",
            f'set the environment variable, or write {missing[0]} = "…" into {FILE_NAME}, below a line '
            "format_version = 1; git ignores that file",
        )
    short = [name for name, value in values.items() if len(value) < _LEAST_LENGTH]
    if short:
        raise UsageError(
            f"{', '.join(short)}: shorter than {_LEAST_LENGTH} characters, and could not be masked in what a run keeps",
            "use a longer one",
        )
    return values


def mask_secrets(folder: Path, values: Iterable[str]) -> tuple[str, ...]:
    """Put ••• in the place of every one of the values in the files of a folder; return the names of those changed."""
    spellings = {spelling.encode() for value in values for spelling in _spellings(value)}
    changed = []
    for path in sorted(folder.rglob("*")) if spellings else []:
        if path.is_file() and not path.is_symlink() and _holds(path, spellings):
            _rewrite(path, sorted(spellings, key=len, reverse=True))
            changed.append(path.relative_to(folder).as_posix())
    return tuple(changed)


def _spellings(value: str) -> set[str]:
    """Return how a value may stand in a file: as it is, in an address, in JSON, and each of these quoted in a JTL."""
    plain = {value, quote(value, safe=""), json.dumps(value, ensure_ascii=False)[1:-1]}
    return plain | {text.replace('"', '""') for text in plain}


def _holds(path: Path, spellings: Iterable[bytes]) -> bool:
    with path.open("rb") as stream:
        if path.stat().st_size == 0:
            return False
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return any(data.find(spelling) >= 0 for spelling in spellings)


def _rewrite(path: Path, spellings: Iterable[bytes]) -> None:
    """Replace the spellings line by line: none of them holds the end of one."""
    draft = path.with_name(f".{path.name}.masked")
    with path.open("rb") as lines, draft.open("wb") as out:
        for line in lines:
            masked = line
            for spelling in spellings:
                masked = masked.replace(spelling, MASK)
            out.write(masked)
    draft.replace(path)
