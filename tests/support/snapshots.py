"""Waits for snapshots of a database's statistics."""

import time
from pathlib import Path

from harness.system.snapshots import read_snapshots
from tests.support.processes import wait_for


def wait_for_snapshot(path: Path) -> None:
    """Return when the file has a snapshot that was requested after this call."""
    now_ms = time.time_ns() // 1_000_000

    def is_there() -> bool:
        lines = path.read_text().splitlines() if path.is_file() else ()
        return any(one.requested_ms > now_ms for one in read_snapshots(lines))

    wait_for(is_there, 30)
