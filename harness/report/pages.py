"""Writes reports that people may edit; their text is never overwritten."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.log import print_text
from harness.base.regular import regular
from harness.base.units import plural
from harness.report.notes import rendered_again
from harness.run.directory import write_whole


def write_page(path: Path, render: Callable[[str], str], default: str = "") -> None:
    """Write a report that `render` makes from the text of its notes; `default` is the text without an older report.

    Lines that a person wrote outside of the notes block are moved into it. If they cannot be distinguished from
    generated lines, the older report is copied to a file beside it. Both are reported on stderr.
    """
    page = rendered_again(_older(path), render, default)
    where = os.path.relpath(path)
    if page.is_unclear:
        copy = _copied(path)
        why = "was changed outside of its notes block, or an older version wrote it"
        saved = f"it is saved as {os.path.relpath(copy)}: copy what you need into the notes block"
        print_text(f"{where}: {why}; {saved}", file=sys.stderr)
    elif page.moved_count:
        lines = plural(page.moved_count, "line")
        print_text(f"{where}: {lines} from outside of the notes block moved into it", file=sys.stderr)
    write_whole(path, page.text)


def _older(path: Path) -> str | None:
    try:
        return regular(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        what = f"{os.path.relpath(path)}:{line}: is not UTF-8 text, so its notes cannot be preserved"
        raise UsageError(what, "save it as UTF-8") from None
    except OSError as error:
        what = f"{os.path.relpath(path)}: cannot be read ({error.strerror})"
        raise UsageError(what, "move it away, or make it readable") from None


def _copied(path: Path) -> Path:
    """Return the path of a copy beside a file; an identical copy is reused."""
    data, number = path.read_bytes(), 1
    while True:
        copy = path.with_name(f"{path.name}.old{'' if number == 1 else number}")
        if not copy.exists():
            copy.write_bytes(data)
        if copy.read_bytes() == data:
            return copy
        number += 1
