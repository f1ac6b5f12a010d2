"""Stores the first failed requests of a run with their responses, after their secrets are masked."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.base.guardian import Guardian
from harness.run.directory import RunDirectory
from harness.run.exchanges import (
    RAW_NAME,
    exchanges_text,
    first_of_each_cause,
    generator_exchanges,
    masked_exchanges,
    parse_exchanges,
)

_RAW_OF_GENERATORS = generator_exchanges(0).replace("0", "*")


def remove_if_killed(folder: Path, guardian: Guardian) -> None:
    """Have the unmasked file removed when the harness dies before `store_failures`."""
    guardian.remove_at_end(folder / RAW_NAME)


def store_failures(directory: RunDirectory, hidden: Iterable[str]) -> None:
    """Write the masked exchanges of JMeter and of its load generators; remove the unmasked files.

    A run without failures has neither.
    """
    raw = [directory.path / RAW_NAME, *sorted(directory.path.glob(_RAW_OF_GENERATORS))]
    files = [path for path in raw if path.is_file()]
    found = [one for path in files for one in parse_exchanges(path.read_text(encoding="utf-8", errors="replace"))]
    if found:
        text = exchanges_text(masked_exchanges(first_of_each_cause(found), hidden))
        directory.failures.write_text(text, encoding="utf-8")
    for path in files:
        path.unlink()
