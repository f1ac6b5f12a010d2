"""What follows the runs of a command while they last, such as a live page: each watcher gets the same calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from harness.base.interrupts import Interrupts
from harness.jtl.sample import Sample
from harness.judge.summary import RunSummary
from harness.plan.spec import RunSpec
from harness.run.directory import RunDirectory
from harness.run.jmeter.progress import Watch
from harness.run.record import RunRecord


class Watcher:
    """Follows runs one after the other, and has those of these methods that it needs.

    They raise no error, and only `finish` may wait: a run is worth more.
    """

    def announce(self, heading: str) -> None:
        """Take what the next run of a series is: its number, its level, about how long the rest takes."""

    def begin(self, directory: RunDirectory, spec: RunSpec) -> None:
        """Take the run that starts in a directory."""

    def show(self, directory: RunDirectory, record: RunRecord, hidden: Sequence[str]) -> None:
        """Take the run of another process; `hidden` are the secrets that no text may contain."""

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

    def conclude(self, line: str) -> None:
        """Take the result of the run that was announced last, in a line."""


@dataclass(frozen=True)
class Watchers:
    """The watchers of a command, all of which get the same calls."""

    members: tuple[Watcher, ...] = ()

    @property
    def watch(self) -> Watch | None:
        """What takes the samples; None without watchers, so that nobody reads more of the JTL than needed."""
        return self.add if self.members else None

    def announce(self, heading: str) -> None:
        """Announce the next run to them."""
        for member in self.members:
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
        for member in self.members:
            member.conclude(line)


# Provides the watchers of a command while it lasts.
Follow = Callable[[Interrupts], AbstractContextManager[Watchers]]
