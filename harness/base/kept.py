"""Keeps what was made of files until they change, so that a command costs what changed and not all that is there."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from harness import __version__
from harness.base.project import PACKAGE, cache_folder

# A file that changes twice within the resolution of its times looks unchanged: one this young is read again.
_YOUNG_NS = 2 * 10**9
# What no command used for this long (s) is removed: its folder is probably gone.
_UNUSED_S = 30 * 24 * 3600
# The size of a file and the time of its last change (ns), as a list because JSON has no tuples; None without a file.
Stamp = list[int] | None


class KeptData:
    """Plain data by name, each with the stamps of the files that it was made of; what is not asked for is forgotten.

    They are in one file of the cache for a `topic`, such as "runs", and a folder that the data are about. The file can
    be removed at any time; one of another version of the tool, or that cannot be read, is as if it were not there.
    """

    def __init__(self, topic: str, about: Path) -> None:
        """Read what is kept."""
        digest = hashlib.sha256(os.fsencode(about.resolve())).hexdigest()
        self._path = cache_folder() / "kept" / f"{topic}-{digest[:16]}.json"
        self._old: dict[str, Any] = {}
        self._new: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError, RecursionError):
            stored = json.loads(self._path.read_bytes())
            if isinstance(stored, dict) and stored.get("of") == of_tool() and isinstance(stored.get("kept"), dict):
                self._old = stored["kept"]

    def get(self, name: str, made_of: object) -> Any:
        """Return what is kept for a name and made of the same, and go on keeping it; None without."""
        kept = self._old.get(name)
        if not isinstance(kept, list) or len(kept) != 2 or kept[0] != made_of:
            return None
        self._new[name] = kept
        return kept[1]

    def put(self, name: str, made_of: object, data: Any) -> None:
        """Keep plain data until `made_of`, plain data too, is another one."""
        self._new[name] = [made_of, data]

    def forget(self, name: str) -> None:
        """Keep nothing for a name."""
        self._new.pop(name, None)

    def write(self) -> None:
        """Store what is kept where something of it changed; a cache that cannot be written is none."""
        with contextlib.suppress(OSError):
            if self._new == self._old:
                os.utime(self._path)
                return
            self._remove_unused()
            draft = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                text = json.dumps({"of": of_tool(), "kept": self._new}, separators=(",", ":"))
                draft.write_text(text, encoding="utf-8")
                draft.replace(self._path)
            finally:
                draft.unlink(missing_ok=True)

    def _remove_unused(self) -> None:
        for path in self._path.parent.glob("*.json*"):
            if time.time() - path.stat().st_mtime > _UNUSED_S:
                path.unlink()


def stamps(paths: Iterable[Path | str]) -> list[Stamp] | None:
    """Return the stamp of each file; None when one is so young that it may change again without another stamp."""
    found = [_stamp(path) for path in paths]
    latest = max((max(one[1], one[2]) for one in found if one), default=0)
    return found if latest < time.time_ns() - _YOUNG_NS else None


def _stamp(path: Path | str) -> Stamp:
    try:
        status = os.stat(path)  # noqa: PTH116 - many paths are texts, of which to make others takes longer
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


@cache
def of_tool() -> str:
    """Return what tells this version of the tool from others, changed files of a clone included."""
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".py", ".j2", ".css", ".js"):
            digest.update(f"{path.relative_to(PACKAGE)} {_stamp(path)}".encode())
    return digest.hexdigest()
