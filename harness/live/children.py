"""Follows runs that are child processes: reads what they write into their run directories, for what shows them."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.base.errors import HarnessError
from harness.base.paths import shown
from harness.report.summary import RunSummary
from harness.report.watchers import Watchers
from harness.run.child import ChildRun
from harness.run.directory import RunDirectory, load_record
from harness.run.progress import JtlTail
from harness.run.result_file import read_end

if TYPE_CHECKING:
    from harness.live.metrics_endpoint import MetricsEndpoint
    from harness.live.view import LiveView

_PERIOD_S = 1.0


class ChildFollower:
    """Shows each run of a series from its run directory; `hidden` are the secrets that no text may contain.

    No method of the displays raises an error or waits.
    """

    def __init__(self, displays: Sequence[LiveView | MetricsEndpoint], hidden: Sequence[str]) -> None:
        self._displays, self._hidden = displays, hidden
        self._all = Watchers(tuple(displays), tuple(displays))
        self._directory: RunDirectory | None = None
        self._tail: JtlTail | None = None
        self._first_s: float | None = None
        self._next_s = 0.0

    def announce(self, heading: str) -> None:
        """Show which run is next."""
        self._directory = self._tail = self._first_s = None
        self._all.announce(heading)

    def poll(self, run: ChildRun) -> None:
        """Read the newest samples of a run; this is called several times per second."""
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + _PERIOD_S
            self._read(run, now_s)

    def ended(self, run: ChildRun) -> None:
        """Read the last samples of a run, and its result."""
        self._read(run, time.monotonic(), has_ended=True)
        if self._directory is None:
            return
        self._all.finish()
        path = self._directory.summary_json
        try:
            summary = load_record(RunSummary, path)
        except (HarnessError, OSError):
            return  # it left no report
        self._all.end(summary, shown(self._directory.report))

    def conclude(self, line: str) -> None:
        """List the result of a run."""
        self._all.conclude(line)

    def _read(self, run: ChildRun, now_s: float, *, has_ended: bool = False) -> None:
        try:
            tail, directory = self._tail or self._begin(run), self._directory
            if tail is None or directory is None:
                return
            samples = tail.rest(directory.samples) if has_ended else tail.new_rows().samples
        except (HarnessError, OSError, EOFError, zlib.error):
            return  # a run of a commit whose files are others, or a damaged file
        if samples and self._first_s is None:
            self._first_s = now_s
        if self._first_s is not None:
            self._all.add(samples, now_s - self._first_s)

    def _begin(self, run: ChildRun) -> JtlTail | None:
        """Show a run as soon as its run.json exists; return what reads its samples, None before."""
        end = read_end(run.result)
        if end is None or end.run is None:
            return None
        plan, _, name = end.run.partition("/")
        directory = RunDirectory(run.folders["reports"] / plan / name)
        record = directory.read_run()
        if record is None:
            return None
        self._directory, self._tail = directory, JtlTail(directory.samples, is_whole=True)
        for display in self._displays:
            display.show(directory, record, self._hidden)
        return self._tail
