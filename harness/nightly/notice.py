"""Defines what a notifier gets when a nightly run ends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.nightly.files import NightlyFiles
from harness.nightly.outcome import NightlyResult


@dataclass(frozen=True)
class Notice:
    """A nightly run that ended or was interrupted: its result, its headline and its files, all of them written.

    `summary_file` is the file of --summary. `page` is the report as one HTML file; None unless it was wanted.
    """

    result: NightlyResult
    headline: str
    files: NightlyFiles
    summary_file: Path | None = None
    page: Path | None = None


class Notifier(Protocol):
    """Sends a notice somewhere; does nothing where no address is set. It may raise a HarnessError or an OSError."""

    def __call__(self, notice: Notice, /) -> None:
        """Send the notice."""
