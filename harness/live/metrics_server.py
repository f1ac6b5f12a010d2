"""Serve the metrics of runs at /metrics, as OpenMetrics or in the older format of Prometheus."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import MetricsHandler

from harness.live.address import Address
from harness.live.connections import LimitedServer
from harness.live.metrics_collector import RunsCollector
from harness.live.scrapers import Scraper, seen_count, wait_s

# A client that takes nothing of its answer ends after so long.
_TIMEOUT_S = 10
_POLL_S = 0.05
# Prometheus and what scrapes as it does send it; a person with a browser or curl is not waited for.
_OF_SCRAPER = "X-Prometheus-Scrape-Timeout-Seconds"
_LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")
_PATH = "/metrics"


class MetricsServer:
    """A server in a thread of its own; each scrape reads `collector`. OSError when the address cannot be used."""

    def __init__(self, address: Address, collector: RunsCollector) -> None:
        registry = CollectorRegistry()
        registry.register(collector)
        self.collector = collector
        self._address = address
        self._scrapers: dict[str, Scraper] = {}
        self._changed = threading.Condition()
        self._server = _Server(address, registry, self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_POLL_S,), name="metrics", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the metrics."""
        return f"http://{Address(self._address.host, self._server.server_address[1])}{_PATH}"

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
            return self._left_s()

    def wait(self, is_in_a_hurry: Callable[[], bool]) -> None:
        """Wait until each scraper has the final counts, or is overdue."""
        with self._changed:
            while (left_s := self._left_s()) > 0 and not is_in_a_hurry():
                self._changed.wait(min(left_s, _POLL_S))

    def end(self) -> None:
        """Stop to serve."""
        self._server.shutdown()
        self._server.server_close()

    def _left_s(self) -> float:
        return wait_s(self._scrapers.values(), time.monotonic(), self.collector.final_count)


class _Server(LimitedServer):
    def __init__(self, address: Address, registry: CollectorRegistry, metrics: MetricsServer) -> None:
        self.registry, self.metrics = registry, metrics
        super().__init__(address.host, address.port, _Handler)


class _Handler(MetricsHandler):
    server: _Server
    timeout = _TIMEOUT_S

    def do_GET(self) -> None:  # noqa: N802 - the name is that of http.server
        """Answer with the metrics in the format that the client accepts."""
        metrics = self.server.metrics
        if not metrics.is_for(self.headers.get("Host", "")):
            self.send_error(403)
            return
        self.server.let_in(self.connection)
        if urlsplit(self.path).path != _PATH:
            self.send_error(404, f"the metrics are at {_PATH}")
            return
        final_count = metrics.collector.final_count
        self.registry = self.server.registry
        super().do_GET()
        if self.headers.get(_OF_SCRAPER):
            metrics.note_scrape(str(self.client_address[0]), final_count)
