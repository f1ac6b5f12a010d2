"""Follows runs that are child processes: reads what they write into their run directories, for the live page."""

from __future__ import annotations

import time

from harness.base.errors import HarnessError
from harness.base.paths import shown
from harness.live.view import LiveView
from harness.report.summary import FORMAT_VERSION, RunSummary
from harness.run.child import ChildRun
from harness.run.directory import RunDirectory, read_json
from harness.run.progress import JtlTail
from harness.run.record import RunRecord
from harness.run.result import read_end

_PERIOD_S = 1.0


class ChildFollower:
    """Shows each run of a series on one page. A run directory has all that the page needs; the child knows nothing."""

    def __init__(self, view: LiveView) -> None:
        self._view = view
        self._directory: RunDirectory | None = None
        self._tail: JtlTail | None = None
        self._first_s: float | None = None
        self._next_s = 0.0

    def announce(self, heading: str) -> None:
        """Show which run is next."""
        self._directory = self._tail = self._first_s = None
        self._view.announce(heading)

    def poll(self, run: ChildRun) -> None:
        """Read the newest samples of a run; this is called several times per second."""
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + _PERIOD_S
            self._read(run, now_s)

    def ended(self, run: ChildRun) -> None:
        """Read the last samples of a run, and its result."""
        self._read(run, time.monotonic())
        if self._directory is None:
            return
        path = self._directory.summary_json
        try:
            summary = RunSummary.from_json(read_json(path, FORMAT_VERSION), str(path))
        except (HarnessError, OSError):
            return  # it left no report
        self._view.end(summary, shown(self._directory.report))

    def conclude(self, line: str) -> None:
        """List the result of a run."""
        self._view.conclude(line)

    def _read(self, run: ChildRun, now_s: float) -> None:
        try:
            tail = self._tail or self._begin(run)
            samples = tail.new_samples()[0] if tail else []
        except (HarnessError, OSError):
            return  # a run of a commit whose files are others
        if samples and self._first_s is None:
            self._first_s = now_s
        if self._first_s is not None:
            self._view.add(samples, now_s - self._first_s)

    def _begin(self, run: ChildRun) -> JtlTail | None:
        """Show a run as soon as its run.json exists; return what reads its samples, None before."""
        end = read_end(run.result)
        if end is None or end.run is None:
            return None
        plan, _, name = end.run.partition("/")
        directory = RunDirectory(run.folders["reports"] / plan / name)
        data = directory.read_run()
        if data is None:
            return None
        record = RunRecord.from_json(data, str(directory.run_json))
        self._directory, self._tail = directory, JtlTail(directory.samples, is_whole=True)
        self._view.show(directory, record.goal, record.load, record.once_labels)
        return self._tail
