"""The metrics of a command's runs for Prometheus: counts what JMeter writes, serves it until the last report exists."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import MetricsHandler

from harness.base import units
from harness.base.git import commit_of
from harness.base.log import Log
from harness.base.project import current_project
from harness.jtl.sample import Sample
from harness.live.connections import LimitedServer
from harness.live.metrics_collector import RunInProgress, RunsCollector, Scraper, seen_count, wait_s
from harness.live.openmetrics import RunLabels
from harness.live.page_address import Address
from harness.live.run_counts import RunCounts
from harness.live.telemetry_tail import TelemetryTail
from harness.plan.spec import RunSpec
from harness.report.watchers import Watcher
from harness.run.directory import RunDirectory
from harness.run.record import RunRecord

# A client that takes nothing of its answer ends after so long.
_TIMEOUT_S = 10
_POLL_S = 0.05
# Prometheus and what scrapes as it does send it; a person with a browser or curl is not waited for.
_OF_SCRAPER = "X-Prometheus-Scrape-Timeout-Seconds"
_LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")
_PATH = "/metrics"


class MetricsEndpoint(Watcher):
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

    def announce(self, heading: str) -> None:  # noqa: ARG002 - of Watcher
        """Serve the address from now on: scrapers find it before the first run, and between runs."""
        self._open()

    def begin(self, directory: RunDirectory, spec: RunSpec) -> None:
        """Serve the metrics of the run that starts in a directory."""
        counts = RunCounts(spec.plan.once_labels, spec.hidden)
        self._begin(directory, spec.profile.name, commit_of(current_project().folder, "HEAD"), counts)

    def show(self, directory: RunDirectory, record: RunRecord, hidden: Sequence[str]) -> None:
        """Serve the metrics of a run of another process; `hidden` are the secrets that no text may contain."""
        self._begin(directory, record.profile, record.git_commit, RunCounts(record.once_labels, hidden))

    def _begin(self, directory: RunDirectory, profile: str, commit: str | None, counts: RunCounts) -> None:
        labels = RunLabels(f"{directory.plan}/{directory.name}", directory.plan, profile, (commit or "")[:12])
        self._is_broken = False
        self._collector.begin(RunInProgress(labels, counts, TelemetryTail(directory.path)))
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
            self._log(f"--metrics: the counts are not updated any more ({error!r}); the run goes on")

    def finish(self) -> None:
        """Note that the load has ended: the counts of the run are final."""
        if self._server and not self._is_broken:
            self._collector.end()

    def __enter__(self) -> MetricsEndpoint:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if self._server is None:
            return
        try:
            is_over = self._collector.is_final and error is None
            wait_s = self._server.wait_s() if is_over and not self._is_in_a_hurry() else 0.0
            if wait_s > 0:
                most = units.plural(max(1, round(wait_s)), "second")
                self._log(f"--metrics: waiting at most {most} for the last scrape; Ctrl-C skips it")
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
            self._log(f"--metrics: {self._address} cannot be used ({error.strerror}); there is no metrics endpoint")
            return
        open_to = "" if self._address.is_loopback else " (other machines can read it, without a password)"
        self._log(f"metrics: {self._server.url}{open_to}")


class MetricsServer(LimitedServer):
    """A server in a thread of its own; each scrape reads `collector`. OSError when the address cannot be used."""

    def __init__(self, address: Address, collector: RunsCollector) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(collector)
        self.collector = collector
        self._address = address
        self._scrapers: dict[str, Scraper] = {}
        self._changed = threading.Condition()
        super().__init__(address.host, address.port, _Handler)
        self.start("metrics")

    @property
    def url(self) -> str:
        """The address of the metrics."""
        return f"http://{Address(self._address.host, self.server_address[1])}{_PATH}"

    def is_for(self, host: str) -> bool:
        """Return whether a request to this host is answered.

        A page of somebody else in a browser may reach this machine by another name; that page must not read the run.
        """
        return not self._address.is_loopback or host.rpartition(":")[0] in _LOCAL_HOSTS or host in _LOCAL_HOSTS

    def note_scrape(self, client: str, final_count: int) -> None:
        """Note that a scraper was answered; the answer had the final counts of the first `final_count` runs."""
        with self._changed:
            now_s = time.monotonic()
            before = self._scrapers.get(client)
            self._scrapers[client] = before.scraped(now_s, final_count) if before else Scraper(now_s, None, final_count)
            self.collector.note_seen(seen_count(self._scrapers.values(), now_s))
            self._changed.notify_all()

    def wait_s(self) -> float:
        """Return how long `wait` takes at most."""
        with self._changed:
            return wait_s(self._scrapers.values(), time.monotonic(), self.collector.final_count)

    def wait(self, is_in_a_hurry: Callable[[], bool]) -> None:
        """Wait until each scraper has the final counts, or is overdue."""
        with self._changed:
            while (left_s := self.wait_s()) > 0 and not is_in_a_hurry():
                self._changed.wait(min(left_s, _POLL_S))


class _Handler(MetricsHandler):
    server: MetricsServer
    timeout = _TIMEOUT_S

    def do_GET(self) -> None:  # noqa: N802 - the name is that of http.server
        """Answer with the metrics in the format that the client accepts."""
        if not self.server.is_for(self.headers.get("Host", "")):
            self.send_error(403)
            return
        self.server.let_in(self.connection)
        if urlsplit(self.path).path != _PATH:
            self.send_error(404, f"the metrics are at {_PATH}")
            return
        final_count = self.server.collector.final_count
        self.registry = self.server.registry
        super().do_GET()
        if self.headers.get(_OF_SCRAPER):
            self.server.note_scrape(str(self.client_address[0]), final_count)
