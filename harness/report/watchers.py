"""What follows the runs of a command while they last, such as a live page: each watcher gets the same calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from harness.base.interrupts import Interrupts
from harness.jtl.sample import Sample
from harness.plan.spec import RunSpec
from harness.report.summary import RunSummary
from harness.run.directory import RunDirectory
from harness.run.progress import Watch


class Watcher(Protocol):
    """Follows runs one after the other. Its methods raise no error, and only `finish` may wait: a run is worth more."""

    def begin(self, directory: RunDirectory, spec: RunSpec) -> None:
        """Take the run that starts in a directory."""

    def add(self, samples: Sequence[Sample], passed_s: float, active_users: int | None = None) -> None:
        """Take the samples of about the last second; `passed_s` is since the first of all.

        `active_users` are those of now; None when only the samples say it.
        """

    def finish(self) -> None:
        """Take that the load has ended: run.json is complete, and the report is written next.

        What the report prints about the watcher is added to run.json here. It may take a few seconds.
        """

    def end(self, summary: RunSummary, report: str) -> None:
        """Take the results of the run and the path of its report."""


class SeriesWatcher(Protocol):
    """Follows the runs of a series, by the lines that the command prints."""

    def announce(self, heading: str) -> None:
        """Take what the next run is: its number, its level, about how long the rest takes."""

    def conclude(self, line: str) -> None:
        """Take the result of the run that was announced last."""


@dataclass(frozen=True)
class Watchers:
    """The watchers of a command; `of_series` are those that also follow its runs as a series."""

    members: tuple[Watcher, ...] = ()
    of_series: tuple[SeriesWatcher, ...] = ()

    @property
    def watch(self) -> Watch | None:
        """What takes the samples; None without watchers, so that nobody reads more of the JTL than needed."""
        return self.add if self.members else None

    def announce(self, heading: str) -> None:
        """Announce the next run to them."""
        for member in self.of_series:
            member.announce(heading)

    def begin(self, directory: RunDirectory, spec: RunSpec) -> None:
        """Pass them the run that starts."""
        for member in self.members:
            member.begin(directory, spec)

    def add(self, samples: Sequence[Sample], passed_s: float, active_users: int | None = None) -> None:
        """Pass them the newest samples."""
        for member in self.members:
            member.add(samples, passed_s, active_users)

    def finish(self) -> None:
        """Pass them the end of the load, before the report is written."""
        for member in self.members:
            member.finish()

    def end(self, summary: RunSummary, report: str) -> None:
        """Pass them the results."""
        for member in self.members:
            member.end(summary, report)

    def conclude(self, line: str) -> None:
        """Pass them the result of a run in one line."""
        for member in self.of_series:
            member.conclude(line)


# Provides the watchers of a command while it lasts.
Follow = Callable[[Interrupts], AbstractContextManager[Watchers]]
