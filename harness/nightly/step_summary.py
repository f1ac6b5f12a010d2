"""The summary of a step of a GitHub workflow: the page without what does not render there, and not too long."""

from __future__ import annotations

import os
import re
from pathlib import Path

from harness.base.errors import ServiceError
from harness.base.paths import shown
from harness.nightly.notice import Notice

# GitHub refuses the summary of a step that is longer, all of it.
LIMIT_BYTES = 1024 * 1024
_VARIABLE = "GITHUB_STEP_SUMMARY"
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]\n]*(?:\\\][^\]\n]*)*\]\([^)\n]*\)\n?")
# A link that is not to a place in the web: there are no files beside a summary.
_RELATIVE_LINK = re.compile(r"(?<!\\)\[([^\]\n]+)\]\((?![a-z][a-z0-9+.-]*://)[^)\n]*\)")
_BLANK_LINES = re.compile(r"\n{3,}")
_CUT = "\n… cut here: {left} lines more are in {page}\n"


def append_step_summary(notice: Notice) -> None:
    """Append the nightly report to the file of --summary or of $GITHUB_STEP_SUMMARY, within the limit of the file."""
    name = os.environ.get(_VARIABLE)
    path = notice.summary_file or (Path(name) if name else None)
    if path is None:
        return
    page = notice.files.page
    try:
        room_bytes = LIMIT_BYTES - (path.stat().st_size if path.exists() else 0)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(step_summary(page.read_text(encoding="utf-8"), shown(page), room_bytes))
    except OSError as error:
        what = f"{path}: the summary cannot be written ({error.strerror})"
        raise ServiceError(what, "the page is all there") from None


def step_summary(page: str, page_name: str, room_bytes: int = LIMIT_BYTES) -> str:
    """Return the page for a summary of at most `room_bytes` bytes of UTF-8, cut between two lines where it is longer.

    `page_name` says where the rest is.
    """
    text = _RELATIVE_LINK.sub(r"\1", _IMAGE.sub("", _COMMENT.sub("", page)))
    text = _BLANK_LINES.sub("\n\n", text).strip() + "\n"
    if len(text.encode()) <= room_bytes:
        return text
    lines = text.splitlines(keepends=True)
    room_bytes -= len(_CUT.format(left=len(lines), page=page_name).encode())
    kept: list[str] = []
    for line in lines:
        room_bytes -= len(line.encode())
        if room_bytes < 0:
            break
        kept.append(line)
    return "".join(kept) + _CUT.format(left=len(lines) - len(kept), page=page_name)
