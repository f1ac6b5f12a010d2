"""The secrets of a run: where they come from, and that none of them is kept."""

from __future__ import annotations

import mmap
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from harness.base.config import load_toml
from harness.base.errors import UsageError
from harness.base.masking import masked_file, masked_line
from harness.base.secrecy import AWS_VARIABLES, is_common_word
from harness.base.spellings import LEAST_LENGTH, Spellings

FILE_NAME = "secrets.toml"
# Tells the keys of AWS, of 16 characters and more, from those of test servers ("test"), which stand in any log.
_LEAST_AWS_LENGTH = 16
# A file with a NUL byte within these first ones is no text.
_HEAD_BYTES = 8192
# XML and JSON up to this size are masked as such.
_WHOLE_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_TABLES = (".jtl", ".csv")


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
    words = [name for name, value in values.items() if is_common_word(value)]
    if words:
        raise UsageError(
            f"{', '.join(words)}: a word of JSON and of every JTL, and cannot be masked in what a run stores",
            "use another one",
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
    spellings = Spellings(values)
    changed = []
    for path in sorted(folder.rglob("*")) if spellings else []:
        is_ours = path.is_file() and not path.is_symlink() and (but is None or but not in path.parents)
        if is_ours and _may_hold(path, spellings) and _rewrite(path, spellings):
            changed.append(path.relative_to(folder).as_posix())
    return tuple(changed)


def _may_hold(path: Path, spellings: Spellings) -> bool:
    with path.open("rb") as stream:
        if path.stat().st_size == 0:
            return False
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return spellings.may_be_in(data)


def _rewrite(path: Path, spellings: Spellings) -> bool:
    """Mask the values in a file; return whether it held any."""
    draft = path.with_name(f".{path.name}.masked")
    is_changed, is_binary = False, _is_binary(path)
    with path.open("rb") as stream, draft.open("wb") as out:
        for chunk in _chunks(stream, path):
            masked = _masked(chunk, spellings, is_binary=is_binary, is_table=path.suffix in _TABLES)
            is_changed = is_changed or masked != chunk
            out.write(masked)
    if is_changed:
        shutil.copymode(path, draft)
        draft.replace(path)
    else:
        draft.unlink()
    return is_changed


def _chunks(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield a file whole as long as it is not too large for that, else many lines at a time."""
    if path.stat().st_size <= _WHOLE_BYTES:
        yield stream.read()
        return
    while lines := stream.readlines(_CHUNK_BYTES):
        yield b"".join(lines)


def _is_binary(path: Path) -> bool:
    with path.open("rb") as stream:
        return path.suffix not in _TABLES and b"\0" in stream.read(_HEAD_BYTES)


def _masked(chunk: bytes, spellings: Spellings, *, is_binary: bool, is_table: bool) -> bytes:
    if not spellings.may_be_in(chunk):
        return chunk
    if is_binary:
        return spellings.masked(chunk, lambda length: b"*" * length)
    if is_table and not chunk.lstrip().startswith(b"<"):
        return b"".join(masked_line(line, spellings, is_table=True) for line in chunk.splitlines(keepends=True))
    return masked_file(chunk, spellings)
