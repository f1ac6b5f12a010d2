"""Checks the jars that Maven brought against a lock file: the SHA-256 of each, as `sha256sum` writes and reads them.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from harness.base.errors import StartError, UsageError
from harness.base.once import has_stamp, sum_of_file
from harness.base.project import CHECKOUT, SCRIPTS

LOCK_NAME = "jars.lock"
# Behind what to do, in a checkout: there the user may have changed what is downloaded.
_AFTER_CHANGE = f"; after a change of pom.xml run {SCRIPTS}lock jars" if CHECKOUT else ""
# What is locked, beside compiled programs.
_CODE = (".jar", ".so", ".dylib", ".min.js")
_PROGRAM = b"\x7fELF"
# What a full check leaves: size and time of each file.
_SEEN_NAME = ".intact"


def check(folder: Path, lock: Path) -> None:
    """Raise a UsageError that names the first file that is not as the lock file has it; without one check nothing.

    After a full check only sizes and times are compared, until one of them changes.
    """
    if not lock.is_file():
        return
    text = lock.read_text(encoding="utf-8")
    seen = _seen(folder, text)
    if has_stamp(folder / _SEEN_NAME, seen):
        return
    if found := differences(folder, text):
        raise UsageError(found[0], f"remove {folder} to download it again{_AFTER_CHANGE}")
    with suppress(OSError):  # in a folder that this user may not write each check is a full one
        (folder / _SEEN_NAME).write_text(seen, encoding="utf-8")


def check_download(folder: Path, lock: Path) -> None:
    """Raise a StartError, and remove what was downloaded, when a file is not as the lock file has it."""
    if lock.is_file() and (differing := differences(folder, lock.read_text(encoding="utf-8"))):
        shutil.rmtree(folder, ignore_errors=True)
        todo = f"check Maven's mirror and ~/.m2/repository{_AFTER_CHANGE}"
        raise StartError(f"the download is refused: {differing[0]}", todo)


def differences(folder: Path, lock: str) -> list[str]:
    """Return what is not as in the text of a lock file: changed, missing and unknown files. It reads all of them."""
    wanted = _entries(lock)
    there = _files(folder, wanted)
    problems = [f"{folder / name}: missing" for name in wanted if name not in there and _is_installed(folder, name)]
    for name in sorted(there):
        if name not in wanted:
            problems.append(f"{folder / name}: unknown, it is not in {LOCK_NAME}")
        elif sum_of_file(folder / name) != wanted[name]:
            problems.append(f"{folder / name}: changed, its SHA-256 is not that of {LOCK_NAME}")
    return problems


def store_sum(file: Path, content: bytes) -> None:
    """Store the SHA-256 of a file that is about to be made here, beside its folder, for `has_sum`."""
    _sum_of(file).write_text(hashlib.sha256(content).hexdigest(), encoding="ascii")


def has_sum(file: Path) -> bool:
    """Return whether a file is as it was when its sum was stored."""
    return has_stamp(_sum_of(file), sum_of_file(file))


def _sum_of(file: Path) -> Path:
    return file.parent.with_name(f".{file.name}.sha256")


def locked(folder: Path) -> str:
    """Return the text of a lock file for all code in a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and _is_code(path))
    return "".join(f"{sum_of_file(path)}  {path.relative_to(folder)}\n" for path in files)


def _entries(lock: str) -> dict[str, str]:
    """Return the hashes of a lock file by the path of the file."""
    lines = (line.partition("  ") for line in lock.splitlines())
    return {name: digest for digest, _, name in lines}


def _is_installed(folder: Path, name: str) -> bool:
    """Return whether the part of `folder` with a file is there: some parts are only for some settings."""
    return (folder / name.partition("/")[0]).exists()


def _files(folder: Path, wanted: Collection[str]) -> dict[str, os.stat_result]:
    """Return the state of the files of the lock that are there, and of all jars beside and below them, by their path.

    Each start of a run waits for it, so it does without pathlib, which takes ten times as long.
    """
    states: dict[str, os.stat_result] = {}
    tops, waiting = {name.partition("/")[0] for name in wanted}, [""]
    while waiting:
        at = waiting.pop()
        with os.scandir(f"{folder}/{at}") as entries:
            for entry in entries:
                name = at + entry.name
                if not at and name not in tops:
                    continue
                if entry.is_dir():
                    waiting.append(f"{name}/")
                elif name in wanted or name.endswith(".jar"):
                    states[name] = entry.stat()
    return states


def _seen(folder: Path, lock: str) -> str:
    """Return the lock with size and time of each file."""
    files = sorted(_files(folder, _entries(lock)).items())
    return lock + "".join(f"{name} {state.st_size} {state.st_mtime_ns}\n" for name, state in files)


def _is_code(path: Path) -> bool:
    if path.name.endswith(_CODE) or path.suffix:
        return path.name.endswith(_CODE)
    with path.open("rb") as stream:
        return stream.read(len(_PROGRAM)) == _PROGRAM
