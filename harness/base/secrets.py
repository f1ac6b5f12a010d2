"""Finds the secrets of a run and removes them from the files that the run stores."""

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
from harness.base.packed import beginning_of, is_part
from harness.base.secrecy import AWS_VARIABLES, is_common_word
from harness.base.spellings import LEAST_LENGTH, Spellings

FILE_NAME = "secrets.toml"
# Distinguishes AWS keys (16 characters or more) from those of test servers ("test"), which appear in any log.
_LEAST_AWS_LENGTH = 16
# A file with a NUL byte within this many first bytes is binary.
_HEAD_BYTES = 8192
# Larger XML and JSON files are masked line by line.
_WHOLE_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_TABLES = (".jtl", ".csv")


def find_secrets(names: Iterable[str], given: Mapping[str, str], home: Path, who: str = "the plan") -> dict[str, str]:
    """Return the secrets by name: from `given`, else from environment variables, else from secrets.toml in `home`.

    The UsageError names `who` needs them, missing values and values too short to mask.
    """
    path = home / FILE_NAME
    stored = load_toml(path, "the secrets file", path.stem) if path.is_file() else {}
    values = {name: given.get(name) or os.environ.get(name) or str(stored.get(name, "")) for name in names}
    missing = [name for name, value in values.items() if not value]
    if missing:
        raise UsageError(
            f"{who} needs {', '.join(missing)}",
            f'set the environment variable, or write {missing[0]} = "…" into {FILE_NAME} below the line '
            "format_version = 1; git ignores this file",
        )
    known = [name for name, value in values.items() if is_common_word(value)]
    if known:
        raise UsageError(
            f"{', '.join(known)}: the value is a word of JSON and of every JTL and cannot be masked in the run's files",
            "use another value",
        )
    short = [name for name, value in values.items() if len(value) < LEAST_LENGTH]
    if short:
        raise UsageError(
            f"{', '.join(short)}: shorter than {LEAST_LENGTH} characters, too short to mask in the run's files",
            "use a longer value",
        )
    return values


def environment_secrets() -> tuple[str, ...]:
    """Return the AWS keys in our environment. No program that a run starts gets them: see process.inherited."""
    found = (os.environ.get(name, "") for name in AWS_VARIABLES)
    return tuple(value for value in found if len(value) >= _LEAST_AWS_LENGTH)


def mask_secrets(folder: Path, values: Iterable[str], *, but: Path | None = None) -> tuple[str, ...]:
    """Replace the values with ••• in the files of a folder; return the names of the changed files.

    In binary files, each value is replaced by asterisks of the same length, so that offsets do not change. Files below
    `but` are not changed: a process that still writes them would continue to write to the replaced file.
    """
    spellings = Spellings(values)
    changed = []
    for path in sorted(folder.rglob("*")) if spellings else []:
        is_ours = path.is_file() and not path.is_symlink() and (but is None or but not in path.parents)
        is_ours = is_ours and not is_part(path.name)
        if is_ours and _may_contain(path, spellings) and _rewrite(path, spellings):
            changed.append(path.relative_to(folder).as_posix())
    return tuple(changed)


def masked_rows(rows: bytes, spellings: Spellings) -> bytes:
    """Return whole lines of a CSV JTL with ••• in place of every value."""
    if not spellings.may_be_in(rows):
        return rows
    return b"".join(masked_line(line, spellings, is_table=True) for line in rows.splitlines(keepends=True))


def _start_of(path: Path) -> int:
    """Return the offset of the first byte that is not in a packed file beside this one, where it is masked."""
    beginning = beginning_of(path)
    return beginning.text_bytes if beginning else 0


def _may_contain(path: Path, spellings: Spellings) -> bool:
    start, size = _start_of(path), path.stat().st_size
    if size <= start:
        return False
    start -= start % mmap.ALLOCATIONGRANULARITY
    length = size - start
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), length, access=mmap.ACCESS_READ, offset=start) as data:
        return spellings.may_be_in(data)


def _rewrite(path: Path, spellings: Spellings) -> bool:
    """Mask the values in a file; return whether it contained any."""
    draft = path.with_name(f".{path.name}.masked")
    is_changed, is_binary = False, _is_binary(path)
    with path.open("rb") as stream, draft.open("wb") as out:
        stream.seek(_start_of(path))
        out.seek(stream.tell())  # a hole, like that of the original
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
    """Yield a small file whole, and a large one in chunks of whole lines."""
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
        return masked_rows(chunk, spellings)
    return masked_file(chunk, spellings)
