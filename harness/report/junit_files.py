"""Writes the JUnit XML of a command, also after an error. Every command loads this module, so it loads little."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.base.errors import EXIT_BUG, EXIT_INTERRUPTED, HarnessError, UsageError

if TYPE_CHECKING:
    from harness.judge.summary import RunSummary
    from harness.report.junit import Suites


class JUnitFile:
    """The file of --junit, which is written at the end of a command; without a path nothing is written.

    If the exit code is not 0, a case failed or is an error.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._code: int | None = None
        self._reports: list[tuple[Mapping[str, Any], int | None]] = []
        self._own: Suites | None = None

    def __enter__(self) -> JUnitFile:
        if self._path:
            if self._path.is_dir() or not self._path.absolute().parent.is_dir():
                raise UsageError(f"--junit={self._path}: not a file in an existing folder", "name another file")
            self._path.unlink(missing_ok=True)  # an earlier one would be taken for this one
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        if self._path is None or isinstance(error, UsageError):  # nothing was measured
            return
        why = ""
        if isinstance(error, HarnessError):
            self._code, why = error.exit_code, str(error)
        elif isinstance(error, KeyboardInterrupt):
            self._code, why = EXIT_INTERRUPTED, "interrupted"
        elif isinstance(error, Exception):
            self._code, why = EXIT_BUG, f"an error of the harness itself: {type(error).__name__}: {error}"
        self._write(EXIT_BUG if self._code is None else self._code, why)

    def add_report(self, report: Path) -> None:
        """Add the cases of a report that is written, by the JSON beside it."""
        if self._path:
            from harness.run.directory import read_object  # here, as below, because few commands write XML

            self.add(read_object(report.with_suffix(".json")))

    def add(self, data: Mapping[str, Any], code: int | None = None) -> None:
        """Add the cases of the JSON of a report; `code` is its exit code if it is not that of the command."""
        self._reports.append((data, code))

    def take(self, suites: Suites) -> None:
        """Take suites instead of those of reports."""
        self._own = suites

    def add_summary(self, name: str, summary: RunSummary, code: int) -> None:
        """Add the cases of samples without a report."""
        if self._path:
            from harness.report.key_figures import result_of

            self.add({"result": replace(result_of(summary), title=name), "verdict": summary.verdict}, code)

    def end(self, code: int) -> int:
        """Set the exit code of the command, and return it."""
        self._code = code
        return code

    def _write(self, code: int, why: str) -> None:
        from harness.base.records import to_plain
        from harness.report.junit import junit_file_text, suites_of
        from harness.run.directory import write_whole

        assert self._path
        suites = [suites_of(to_plain(data), code if own is None else own) for data, own in self._reports]
        write_whole(self._path, junit_file_text([self._own] if self._own is not None else suites, code, why))
