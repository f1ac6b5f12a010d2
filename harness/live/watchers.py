"""The options of what follows runs while they last, such as their live page, and what follows those of children."""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.base.errors import HarnessError, UsageError
from harness.base.guardian import Guardian
from harness.base.install.python_packages import ensure_opentelemetry
from harness.base.install.toolchain import ensure_charts
from harness.base.interrupts import Interrupts
from harness.base.log import log
from harness.base.paths import shown
from harness.judge.summary import RunSummary
from harness.live.page_address import Address, LiveAddress, parse_address, parse_page_address
from harness.report.watchers import Watcher, Watchers
from harness.run.child import Children, ChildRun
from harness.run.directory import RunDirectory, load_record
from harness.run.jmeter.progress import JtlTail
from harness.run.result_file import read_end

if TYPE_CHECKING:
    from harness.live.otlp.receiver import Receiver

# The port that exporters of OpenTelemetry use for Prometheus, too.
METRICS_PORT = 9464
_PERIOD_S = 1.0


@dataclass(frozen=True)
class WatcherOptions:
    """The requested watchers; `live_address` is None without a live page, whose button ends `stops`.

    `metrics_address` is None without metrics for Prometheus, `receiver` without those by OTLP. `receiver_problem` is
    why a requested receiver is not used.
    """

    live_address: LiveAddress | None
    metrics_address: Address | None
    receiver: Receiver | None
    stops: str
    receiver_problem: str = ""

    @contextmanager
    def open(self, interrupts: Interrupts) -> Iterator[Watchers]:
        """Provide the watchers while the runs and their reports last."""
        with ExitStack() as stack:
            displays = self._displays(interrupts, stack)
            members = [*displays]
            if self.receiver is not None:
                ensure_opentelemetry()
                from harness.live.otlp.watcher import OtlpRuns  # deferred: it needs the packages of OpenTelemetry

                members.append(stack.enter_context(OtlpRuns(self.receiver, log)))
            if self.receiver_problem:
                from harness.live.otlp.watcher import NothingSent  # deferred, like the receiver that it replaces

                members.append(NothingSent(self.receiver_problem, log))
            yield Watchers(tuple(members))

    @contextmanager
    def children(self, interrupts: Interrupts, guardian: Guardian, hidden: Sequence[str]) -> Iterator[Children]:
        """Provide what starts the runs of a command as child processes, followed; `hidden` are the secrets of all.

        Page and metrics have one address for all of them. Each child sends its own data by OTLP, as a run alone.
        """
        arguments: tuple[str, ...] = ()
        if self.receiver is not None:
            ensure_opentelemetry()
            arguments = (f"--otlp={self.receiver.address.url}",)
        with ExitStack() as stack:
            displays = self._displays(interrupts, stack)
            if not displays:
                yield Children(interrupts, guardian, None, arguments)
                return
            yield Children(interrupts, guardian, ChildFollower(displays, hidden), arguments)

    def _displays(self, interrupts: Interrupts, stack: ExitStack) -> list[Watcher]:
        """Return the watchers that have an address, which the stack closes."""
        displays: list[Watcher] = []
        if self.live_address is not None:
            from harness.live.view import LiveView  # deferred: only --live needs the site's scripts

            view = LiveView(self.live_address, ensure_charts(), self.stops, interrupts.ask, log)
            displays.append(stack.enter_context(view))
        if self.metrics_address is not None:
            from harness.live.metrics_endpoint import MetricsEndpoint  # deferred: it needs prometheus_client

            endpoint = MetricsEndpoint(self.metrics_address, log, lambda: interrupts.count > 0)
            displays.append(stack.enter_context(endpoint))
        return displays


class ChildFollower:
    """Shows each run of a series from its run directory; `hidden` are the secrets that no text may contain.

    No method of the displays raises an error or waits.
    """

    def __init__(self, displays: Sequence[Watcher], hidden: Sequence[str]) -> None:
        self._displays, self._hidden = displays, hidden
        self._all = Watchers(tuple(displays))
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


def watcher_options(options: argparse.Namespace, stops: str = "the load") -> WatcherOptions:
    """Return the watchers of the command line; the button of the page ends what `stops` names.

    UsageError for an address of page or metrics that cannot be. A receiver that cannot be is named in one line, and the
    runs continue: they do not depend on it.
    """
    live = parse_page_address(options.live)
    metrics = parse_address(options.metrics, "--metrics", METRICS_PORT)
    if not options.otlp:
        return WatcherOptions(live, metrics, None, stops)
    from harness.live.otlp.receiver import receiver_at  # deferred: only --otlp needs HTTP

    try:
        return WatcherOptions(live, metrics, receiver_at(options.otlp), stops)
    except UsageError as error:
        log(f"warning: {error}; nothing is sent, the run goes on")
        return WatcherOptions(live, metrics, None, stops, error.what)
