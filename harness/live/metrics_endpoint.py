"""The metrics of a command's runs for Prometheus: counts what JMeter writes, serves it until the last report exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType

from harness.base import units
from harness.base.git import commit_of
from harness.base.log import Log
from harness.base.toolchain import ROOT
from harness.jtl.sample import Sample
from harness.live.address import Address
from harness.live.metrics_collector import RunInProgress, RunsCollector
from harness.live.metrics_server import MetricsServer
from harness.live.openmetrics import RunLabels
from harness.live.run_counts import RunCounts
from harness.live.telemetry_tail import TelemetryTail
from harness.plan.spec import RunSpec
from harness.report.summary import RunSummary
from harness.run.directory import RunDirectory
from harness.run.record import RunRecord


class MetricsEndpoint:
    """Serves the metrics of runs at one address; `log` prints it.

    `is_in_a_hurry` returns whether to skip the wait for scrapers. The address is served from the first run that is
    announced or begins. One that cannot be used is reported, and the runs continue without metrics.
    """

    def __init__(self, address: Address, log: Log, is_in_a_hurry: Callable[[], bool]) -> None:
        self._address, self._log, self._is_in_a_hurry = address, log, is_in_a_hurry
        self._collector = RunsCollector()
        self._server: MetricsServer | None = None
        self._is_refused = False
        self._is_broken = False

    def announce(self, heading: str) -> None:  # noqa: ARG002 - of SeriesWatcher
        """Serve the address from now on: scrapers find it before the first run, and between runs."""
        self._open()

    def begin(self, directory: RunDirectory, spec: RunSpec) -> None:
        """Serve the metrics of the run that starts in a directory."""
        counts = RunCounts(spec.plan.once_labels, spec.hidden)
        self._begin(directory, spec.profile.name, commit_of(ROOT, "HEAD"), counts)

    def show(self, directory: RunDirectory, record: RunRecord, hidden: Sequence[str]) -> None:
        """Serve the metrics of a run of another process; `hidden` are the secrets that no text may contain."""
        self._begin(directory, record.profile, record.git_commit, RunCounts(record.once_labels, hidden))

    def _begin(self, directory: RunDirectory, profile: str, commit: str | None, counts: RunCounts) -> None:
        labels = RunLabels(f"{directory.plan}/{directory.name}", directory.plan, profile, (commit or "")[:12])
        self._is_broken = False
        self._collector.begin(RunInProgress(labels, counts, TelemetryTail(directory.telemetry)))
        self._open()

    def add(
        self,
        samples: Sequence[Sample],
        passed_s: float,  # noqa: ARG002 - of Watcher
        active_users: int | None = None,
    ) -> None:
        """Count the samples of the last second."""
        if self._server is None or self._is_broken:
            return
        try:
            self._collector.add(samples, active_users)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # An error of the metrics must not end the run.
            self._is_broken = True
            self._log(f"METRICS: the counts are not updated any more ({error!r}); the run goes on")

    def finish(self) -> None:
        """Note that the load has ended: the counts of the run are final."""
        if self._server and not self._is_broken:
            self._collector.end()

    def end(self, summary: RunSummary, report: str) -> None:
        """Change nothing: the metrics have no verdict."""

    def conclude(self, line: str) -> None:
        """Change nothing: scrapers may not have the final counts of the run."""

    def __enter__(self) -> MetricsEndpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._server is None:
            return
        try:
            is_over = self._collector.is_final and error is None
            wait_s = self._server.wait_s() if is_over and not self._is_in_a_hurry() else 0.0
            if wait_s > 0:
                most = units.plural(max(1, round(wait_s)), "second")
                self._log(f"METRICS: waiting at most {most} for the last scrape; Ctrl-C skips it")
                self._server.wait(self._is_in_a_hurry)
        except KeyboardInterrupt:
            pass  # the run and its report are complete
        finally:
            self._server.end()

    def _open(self) -> None:
        """Start the server, once; an address that cannot be used is tried once."""
        if self._server or self._is_refused:
            return
        try:
            self._server = MetricsServer(self._address, self._collector)
        except OSError as error:
            self._is_refused = True
            self._log(f"METRICS: {self._address} cannot be used ({error.strerror}); there is no metrics endpoint")
            return
        open_to = "" if self._address.is_loopback else " (other machines can read it, without a password)"
        self._log(f"metrics: {self._server.url}{open_to}")
