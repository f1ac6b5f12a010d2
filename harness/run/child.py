"""Runs as child processes: `lth run` with a time limit, and the result file that it leaves."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.base import units
from harness.base.errors import EXIT_BUG
from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.base.log import log
from harness.base.process import Launch
from harness.base.project import PACKAGE
from harness.run.limited_run import INTERRUPTED, TOO_LONG, ProcessEnd, run_limited
from harness.run.result_file import RunEnd, read_end

RUN = (str(PACKAGE / "__main__.py"), "run")


@dataclass(frozen=True)
class ChildRun:
    """A run to start: `arguments` are options of lth run, `folders` its options reports, home and build.

    Its output goes to `log`; its result file is beside the log while it runs.
    """

    title: str
    arguments: tuple[str, ...]
    folders: Mapping[str, Path]
    log: Path

    @property
    def result(self) -> Path:
        """The result file."""
        return self.log.with_suffix(".result.json")


@dataclass(frozen=True)
class ChildEnd:
    """How the child process ended, and the content of its result file."""

    process: ProcessEnd
    result: RunEnd

    def problem(self, limit_s: float, why_too_long: str, *, is_run: bool) -> str:
        """Return the problem that the run's own report does not contain; may be empty.

        `is_run` means that there is a run directory; `why_too_long` is why it was stopped after `limit_s`.
        """
        if self.process.how == TOO_LONG:
            return f"stopped after {units.duration_text(round(limit_s))}: {why_too_long}"
        if self.process.how == INTERRUPTED:
            return "interrupted"
        if is_run and self.process.exit_code >= 0 and self.process.exit_code != EXIT_BUG:
            return ""
        reasons = self.result.reasons
        reason = first_line(reasons[0]) if reasons else "it wrote no result: another process ended it"
        return f"lth run ended with code {self.process.exit_code}: {reason}"


class ChildWatch(Protocol):
    """Follows the runs of a series from outside. None of its methods may raise an error or wait."""

    def announce(self, heading: str) -> None:
        """Get the heading of the next run, as the terminal prints it."""

    def poll(self, run: ChildRun) -> None:
        """Look at a running run; this is called several times per second."""

    def ended(self, run: ChildRun) -> None:
        """Note the end of a run, whose result file still exists."""

    def conclude(self, line: str) -> None:
        """Get the result of the run, as the terminal prints it."""


@dataclass(frozen=True)
class Children:
    """The runs of a series, one after the other; `interrupts` must be held. `watch` follows them.

    All get the options `arguments` of lth run besides their own.
    """

    interrupts: Interrupts
    guardian: Guardian
    watch: ChildWatch | None = None
    arguments: tuple[str, ...] = ()

    def announce(self, heading: str) -> None:
        """Print the heading of the next run."""
        log(heading)
        if self.watch:
            self.watch.announce(heading)

    def run(self, run: ChildRun, limit_s: float) -> ChildEnd:
        """Run lth run as a child and return its end; it is stopped after `limit_s`."""
        run.result.unlink(missing_ok=True)
        folders = (f"--{name}={path}" for name, path in run.folders.items())
        launch = Launch(
            name=run.title,
            argv=[sys.executable, *RUN, *run.arguments, *self.arguments, f"--result={run.result}", *folders],
            cwd=Path.cwd(),
            # The whole environment: a run may need credentials to download metrics.
            environment={**os.environ, **self.guardian.environment},
            log=run.log,
        )
        watch = self.watch
        process_end = run_limited(launch, limit_s, self.interrupts, poll=(lambda: watch.poll(run)) if watch else None)
        if watch:
            watch.ended(run)
        result = read_end(run.result) or RunEnd()
        run.result.unlink(missing_ok=True)
        return ChildEnd(process_end, result)

    def conclude(self, line: str) -> None:
        """Print the result of the run that was announced last."""
        log(f"  {line}")
        if self.watch:
            self.watch.conclude(line)


def first_line(text: str) -> str:
    """Return the first line of a message, without the log folder that the next run overwrites."""
    return (text.splitlines() or [""])[0].partition("; see ")[0]
