"""The metrics of one run for Prometheus: counts what JMeter writes, and serves the counts until the report exists."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from harness.base import units
from harness.base.git import commit_of
from harness.base.log import Log
from harness.base.toolchain import ROOT
from harness.jtl.sample import Sample
from harness.live.address import Address
from harness.live.metrics_server import MetricsServer
from harness.live.openmetrics import RunLabels, families
from harness.live.run_counts import RunCounts
from harness.live.telemetry_tail import TelemetryTail
from harness.plan.spec import RunSpec
from harness.report.summary import RunSummary
from harness.run.directory import RunDirectory


class RunCollector(Collector):
    """Collects the metrics of a run that goes on; `add` and `collect` may be called by different threads."""

    def __init__(self, labels: RunLabels, counts: RunCounts, telemetry: TelemetryTail) -> None:
        self._labels, self._counts, self._telemetry = labels, counts, telemetry
        self._lock = threading.Lock()

    def add(self, samples: Sequence[Sample]) -> None:
        """Count new samples."""
        with self._lock:
            self._counts.add(samples)

    def end(self) -> None:
        """Note that no more samples come."""
        with self._lock:
            self._counts.end()

    def collect(self) -> Iterator[Metric]:
        """Return the metric families of this moment."""
        with self._lock:
            snapshot, uses = self._counts.snapshot(), self._telemetry.uses()
        yield from families(self._labels, snapshot, uses.values())


class MetricsEndpoint:
    """Serves the metrics of the run that begins; `log` prints the address, `is_in_a_hurry` that nobody may wait.

    An address that cannot be used is reported, and the run goes on without metrics.
    """

    def __init__(self, address: Address, log: Log, is_in_a_hurry: Callable[[], bool]) -> None:
        self._address, self._log, self._is_in_a_hurry = address, log, is_in_a_hurry
        self._server: MetricsServer | None = None
        self._collector: RunCollector | None = None
        self._is_broken = False

    def begin(self, directory: RunDirectory, spec: RunSpec) -> None:
        """Serve the metrics of the run that starts in a directory."""
        commit = (commit_of(ROOT, "HEAD") or "")[:12]
        labels = RunLabels(f"{directory.plan}/{directory.name}", directory.plan, spec.profile.name, commit)
        counts = RunCounts(spec.plan.once_labels, spec.hidden)
        collector = RunCollector(labels, counts, TelemetryTail(directory.telemetry))
        try:
            self._server = MetricsServer(self._address, collector)
        except OSError as error:
            self._log(f"METRICS: {self._address} cannot be used ({error.strerror}); the run has no metrics endpoint")
            return
        self._collector = collector
        open_to = "" if self._address.is_loopback else " (other machines can read it, without a password)"
        self._log(f"metrics: {self._server.url}{open_to}")

    def add(self, samples: Sequence[Sample], passed_s: float) -> None:  # noqa: ARG002 - of Watcher
        """Count the samples of the last second."""
        if self._collector is None or self._is_broken:
            return
        try:
            self._collector.add(samples)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # The run is worth more than its metrics.
            self._is_broken = True
            self._log(f"METRICS: the counts are not updated any more ({error!r}); the run goes on")

    def finish(self) -> None:
        """Note that the load has ended: the counts are final."""
        if self._server and self._collector and not self._is_broken:
            self._collector.end()
            self._server.is_final = True

    def end(self, summary: RunSummary, report: str) -> None:
        """Go on as before: the metrics have no verdict."""

    def __enter__(self) -> MetricsEndpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._server is None:
            return
        try:
            is_over = self._server.is_final and error is None
            wait_s = self._server.wait_s() if is_over and not self._is_in_a_hurry() else 0.0
            if wait_s > 0:
                most = units.plural(max(1, round(wait_s)), "second")
                self._log(f"METRICS: waiting at most {most} for the last scrape; Ctrl-C skips it")
                self._server.wait(self._is_in_a_hurry)
        except KeyboardInterrupt:
            pass  # the run and its report are complete
        finally:
            self._server.end()
