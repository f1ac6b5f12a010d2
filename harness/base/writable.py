"""A folder that cannot be written is wrong use, and one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.base.errors import UsageError

TODO = "give yourself the right to write, or name another place"


@contextmanager
def writing_into(folder: Path) -> Iterator[None]:
    """Turn the system's refusal to write into `folder` into a UsageError; that a name is taken is none."""
    try:
        yield
    except FileExistsError:
        if folder.is_dir():
            raise
        raise UsageError(f"{_shown(folder)} is no folder", "move that file away") from None
    except OSError as error:
        raise UsageError(f"{_shown(folder)} cannot be written ({error.strerror})", TODO) from None


def _shown(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}/".lstrip("/")
