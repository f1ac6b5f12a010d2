"""Reads telemetry.csv while it grows: the newest CPU and memory of each process, and its CPU time so far."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.base.units import MS_PER_S
from harness.run.telemetry.table import FILE_NAME


@dataclass(frozen=True)
class TailUse:
    """CPU (cores) and memory (bytes) of a process in the last second, and its CPU time since the load began."""

    process: str
    cpu_cores: float
    rss_bytes: int
    cpu_s: float = 0.0


class TelemetryTail:
    """Reads only the rows that were added since the last call; `folder` is that of the run."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self._offset = 0
        self._names: list[str] = []
        self._uses: dict[str, TailUse] = {}
        # All rows of a moment are about the time since the moment before; the first ones about a second.
        self._moment_ms, self._passed_ms = 0, MS_PER_S

    def uses(self) -> Mapping[str, TailUse]:
        """Return the newest use of each process, in order of appearance; of one that has ended, its last."""
        rows = list(csv.reader(self._new_text().splitlines()))
        if rows and not self._names:
            self._names = rows.pop(0)
        for values in rows:
            row = dict(zip(self._names, values, strict=False))
            try:
                self._add(row["process"], int(row["time_ms"]), float(row["cpu_cores"]), int(row["rss_bytes"] or 0))
            except (KeyError, ValueError):
                continue  # a row of another kind
        return dict(self._uses)

    def _add(self, process: str, time_ms: int, cpu_cores: float, rss_bytes: int) -> None:
        if time_ms != self._moment_ms:
            if self._moment_ms:
                self._passed_ms = max(0, time_ms - self._moment_ms)
            self._moment_ms = time_ms
        before_s = self._uses[process].cpu_s if process in self._uses else 0.0
        self._uses[process] = TailUse(process, cpu_cores, rss_bytes, before_s + cpu_cores * self._passed_ms / MS_PER_S)

    def _new_text(self) -> str:
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._offset)
                data = stream.read()
        except OSError:  # it does not exist yet, or was removed
            return ""
        data = data[: data.rfind(b"\n") + 1]
        self._offset += len(data)
        return data.decode("utf-8", "replace")
