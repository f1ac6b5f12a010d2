"""Writes and reads the result file of a run for its parent process: directory, verdict, reasons and exit code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from harness.base.errors import EXIT_BUG, EXIT_INTERRUPTED, HarnessError
from harness.run.directory import RunDirectory, json_text, load_record, write_whole

FORMAT_VERSION = 1


@dataclass(frozen=True)
class RunEnd:
    """How a run ended; `run` is plan and name, None without a run directory.

    `exit_code` is None while the run is in progress, and stays None when it is killed. `verdict` is None without a
    report; `reasons` then contain the error. `not_stored` is why an upload to S3 failed.
    """

    format_version: int = FORMAT_VERSION
    run: str | None = None
    verdict: str | None = None
    reasons: tuple[str, ...] = ()
    exit_code: int | None = None
    not_stored: str = ""
    what: ClassVar = "the result of a run"
    version: ClassVar = FORMAT_VERSION


def read_end(path: Path) -> RunEnd | None:
    """Return how a run ended; None when it wrote no result file."""
    if not path.is_file():
        return None
    return load_record(RunEnd, path)


class ResultFile:
    """Writes the result file of one run, also after an error; without a path it writes nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._end = RunEnd()

    def __enter__(self) -> ResultFile:
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        if isinstance(error, HarnessError):
            self._write(replace(self._end, reasons=(str(error),), exit_code=error.exit_code))
        elif isinstance(error, KeyboardInterrupt):
            self._write(replace(self._end, reasons=("interrupted",), exit_code=EXIT_INTERRUPTED))
        elif isinstance(error, Exception):
            why = f"an error of the harness itself: {type(error).__name__}: {error}"
            self._write(replace(self._end, reasons=(why,), exit_code=EXIT_BUG))

    def begin(self, directory: RunDirectory) -> None:
        """Write the name of the run that starts."""
        self._write(replace(self._end, run=f"{directory.plan}/{directory.name}"))

    def end(self, verdict: str, reasons: tuple[str, ...], exit_code: int, not_stored: str = "") -> None:
        """Write how the run ended."""
        end = replace(self._end, verdict=verdict, reasons=reasons, exit_code=exit_code, not_stored=not_stored)
        self._write(end)

    def _write(self, end: RunEnd) -> None:
        self._end = end
        if self._path:
            write_whole(self._path, json_text(end))
