"""Refuses what is no regular file before it is opened: a pipe or a device blocks, or never ends."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

from harness.base.units import BYTES_PER_MB

# The largest file that is read as a whole: a JSON, TOML, JMX or Markdown file.
MOST_MB = 512
_KINDS = {
    stat.S_IFIFO: "it is a pipe; save it as a file",
    stat.S_IFSOCK: "it is a socket",
    stat.S_IFCHR: "it is a device",
    stat.S_IFBLK: "it is a device",
    stat.S_IFDIR: "Is a directory",  # as the system calls it
}


def regular(path: Path, most_mb: float = MOST_MB) -> Path:
    """Return the path of a regular file of at most `most_mb` MB; OSError with the reason for anything else."""
    status = path.stat()
    kind = stat.S_IFMT(status.st_mode)
    if kind != stat.S_IFREG:
        raise OSError(errno.EINVAL, _KINDS.get(kind, "it is no file"), str(path))
    if status.st_size > most_mb * BYTES_PER_MB:
        raise OSError(errno.EFBIG, f"it is larger than {most_mb:,.0f} MB", str(path))
    return path
