"""The secrets of a run: where they come from, and that none of them is kept."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.config import load_toml
from harness.errors import UsageError
from harness.secrecy import AWS_VARIABLES, LEAST_LENGTH, MASK, spellings

FILE_NAME = "secrets.toml"
# Tells the keys of AWS, of 16 characters and more, from those of test servers ("test"), which stand in any log.
_LEAST_AWS_LENGTH = 16
# A file with a NUL byte within these first ones is no text.
_HEAD_BYTES = 8192


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
    short = [name for name, value in values.items() if len(value) < LEAST_LENGTH]
    if short:
        raise UsageError(
            f"{', '.join(short)}: shorter than {LEAST_LENGTH} characters, and could not be masked in what a run keeps",
            "use a longer one",
        )
    return values


def environment_secrets() -> tuple[str, ...]:
    """Return the keys to AWS that stand in our environment: no program that a run starts gets them, see io/child."""
    found = (os.environ.get(name, "") for name in AWS_VARIABLES)
    return tuple(value for value in found if len(value) >= _LEAST_AWS_LENGTH)


def mask_secrets(folder: Path, values: Iterable[str], *, but: Path | None = None) -> tuple[str, ...]:
    """Put ••• in the place of every one of the values in the files of a folder; return the names of those changed.

    In files that are no text as many asterisks take the place of a value, so that the rest keeps its place. Files below
    `but` are left as they are: whoever still writes them would go on writing into the one that was replaced.
    """
    every = {spelling.encode() for value in values for spelling in spellings(value)}
    changed = []
    for path in sorted(folder.rglob("*")) if every else []:
        is_ours = path.is_file() and not path.is_symlink() and (but is None or but not in path.parents)
        if is_ours and _holds(path, every):
            _rewrite(path, sorted(every, key=len, reverse=True))
            changed.append(path.relative_to(folder).as_posix())
    return tuple(changed)


def _holds(path: Path, every: Iterable[bytes]) -> bool:
    with path.open("rb") as stream:
        if path.stat().st_size == 0:
            return False
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return any(data.find(spelling) >= 0 for spelling in every)


def _rewrite(path: Path, every: Iterable[bytes]) -> None:
    """Replace the spellings line by line: none of them holds the end of one."""
    draft = path.with_name(f".{path.name}.masked")
    with path.open("rb") as lines, draft.open("wb") as out:
        is_text = b"\0" not in lines.read(_HEAD_BYTES)
        lines.seek(0)
        for line in lines:
            rest = line
            for spelling in every:
                rest = rest.replace(spelling, MASK.encode() if is_text else b"*" * len(spelling))
            out.write(rest)
    draft.replace(path)
