"""Notices while a load runs that the run's folder was removed, or that its disk is full."""

from __future__ import annotations

import shutil
from pathlib import Path

from harness.base.log import Log

REMOVED = "the run's folder was removed while it ran"
# A file system without so many free bytes takes no more rows.
_FULL_BYTES = 64 * 1024


class FolderWatch:
    """Watches the folder of a run; call `failures` about once a second. `log` prints a line."""

    def __init__(self, folder: Path, log: Log) -> None:
        self._folder = folder
        self._log = log
        self._was_full = False

    def failures(self, problem: str = "") -> tuple[str, ...]:
        """Return why the run cannot continue, and print once that samples are being lost.

        `problem` is why rows of telemetry could not be written.
        """
        try:
            free_bytes = shutil.disk_usage(self._folder).free
        except OSError:
            return (REMOVED,)
        if (problem or free_bytes < _FULL_BYTES) and not self._was_full:
            self._was_full = True
            why = problem or "its disk is full"
            self._log(
                f"warning: {self._folder.name} cannot be written ({why}): samples are being lost; free disk space"
            )
        return ()
