"""One part of a run: its channel, what it sent so far, and whether it does its share."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.base.errors import UsageError
from harness.base.plain_text import one_line
from harness.base.records import read_record
from harness.base.strict_json import parse
from harness.run.parts.channel import Channel, Rows
from harness.run.parts.places import Place
from harness.run.record import RunRecord
from harness.run.telemetry.table import FILE_NAME, rows_at

_NEEDED_VERSIONS = ("jmeter", "java")


@dataclass
class MachinePart:
    """One part: its channel, its machine, and what came of its run."""

    place: Place
    channel: Channel
    machine: str = ""
    tool: str = "{tool}"
    ahead_ms: int = 0
    moved_ms: int | None = None
    record: RunRecord | None = None
    rows: Rows | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    not_stored: str = ""

    @property
    def name(self) -> str:
        return self.place.name

    @property
    def has_tool(self) -> bool:
        """Whether tool and JMeter are there, and need not be sent."""
        return self.tool != "{tool}"

    def problem(self) -> str:
        """Return why this part did not do its share, "" while it does."""
        problem = self._problem() or (self.rows.problem if self.rows else "") or self.not_stored
        return one_line(f"part {self.name}{'' if problem.startswith(' ') else ': '}{problem}") if problem else ""

    def _problem(self) -> str:
        ended = self.channel.ended
        if ended is None:
            return f" was lost: {why}" if (why := self.channel.check()) else ""
        if text := self.files.get("run.json"):
            try:
                self.record = self.read(text)
            except UsageError as error:
                return error.what
        if self.record and self.record.stop_reasons:
            return f"; part {self.name}: ".join(self.record.stop_reasons)
        code, reason = ended.get("code"), ended.get("reason") or "it was killed"
        if code is None:
            return f" died: {reason}"
        is_fine = code == 0 or (self.record and self.record.interrupted)
        return "" if is_fine else f" ended with code {code}: {reason}"

    def read(self, text: bytes) -> RunRecord:
        """Return the record in a run.json of this part; UsageError when it is none."""
        where = f"run.json of {self.name}"
        try:
            record = read_record(RunRecord, parse(text), where)
        except ValueError as error:
            raise UsageError(f"{where} is no JSON ({error})") from None
        if missing := [name for name in _NEEDED_VERSIONS if name not in record.versions]:
            raise UsageError(f"{where} has no version of {missing[0]}")
        return record

    def telemetry(self, without: Sequence[str]) -> list[list[str]]:
        """Return the rows of its telemetry for that of the whole run, without some processes of its machine."""
        lines = self.files.get(FILE_NAME, b"").decode(errors="replace").splitlines()
        try:
            return list(rows_at(lines, self.name, self.ahead_ms, without))
        except (csv.Error, KeyError, ValueError):
            self.not_stored = f"its {FILE_NAME} is damaged"
            return []
