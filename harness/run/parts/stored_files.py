"""Stores in the run directory what the parts of a run have beside their samples."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence

from harness.base.packed import PACKED
from harness.jtl.sample import samples_number
from harness.metrics.amounts import FILE_NAME as AMOUNTS
from harness.metrics.event_streams import FILE_NAME as STREAMS
from harness.run.directory import RunDirectory, generator_log
from harness.run.jmeter.command import LOG_NAME
from harness.run.jmeter.connections import FOREIGN_NAME, generator_connections
from harness.run.jmeter.exchanges import joined_exchanges, parse_exchanges
from harness.run.parts import relay
from harness.run.parts.part import MachinePart
from harness.run.telemetry.processes import HOST, STOLEN
from harness.run.telemetry.table import FILE_NAME

# The names in the run directory of what each part has; other files are stored once, those of the first part.
_NUMBERED: Mapping[str, Callable[[int], str]] = {LOG_NAME: generator_log, FOREIGN_NAME: generator_connections}
# What the launcher writes itself: a part that lies must not be read as if it were that.
_OWN = re.compile(
    r"(?:run|compared|services)\.json|failures\.(?:jsonl|html)|(?:telemetry|heap|recording|cloudwatch|streams|amounts)\.csv|"
    r"(?:profile|histograms)\.tsv\.gz|(?:own-metrics|statements|waits|snapshots)-.*|jmeter\.out|system(?:/.*)?|\..*|"
    r"[^/]*\.svg",
    re.DOTALL,
)


def store_files(parts: Sequence[MachinePart], directory: RunDirectory) -> None:
    """Store in the run directory what the parts have beside their samples."""
    for number, part in enumerate(parts, start=1):
        for name, data in part.files.items():
            copy = directory.path / (_NUMBERED[name](number) if name in _NUMBERED else name)
            if is_copied(name) and not copy.exists():
                try:
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    copy.write_bytes(data)
                except OSError as error:
                    part.not_stored = f"its file {name} cannot be stored ({error.strerror})"
    stored = ((part.name, part.files.get("failures.jsonl", b"").decode(errors="replace")) for part in parts)
    if text := joined_exchanges((name, parse_exchanges(text)) for name, text in stored):
        directory.failures.write_text(text, encoding="utf-8")
    for name in (STREAMS, AMOUNTS):
        if rows := [part.files[name] for part in parts if name in part.files]:
            (directory.path / name).write_bytes(b"".join(rows))  # with a head each
    seen = {relay.machine()}
    with (directory.path / FILE_NAME).open("a", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        for part in parts:
            writer.writerows(part.telemetry((HOST, STOLEN) if part.machine in seen else ()))
            seen.add(part.machine)


def is_copied(name: str) -> bool:
    """Return whether a file of a part is stored as it is: neither samples nor what is made of all parts' files."""
    return not _OWN.fullmatch(name) and samples_number(name.removesuffix(PACKED)) is None
