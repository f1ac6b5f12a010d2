"""Collects the metrics of runs one after the other, for scrapers with any period."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from harness.jtl.sample import Sample
from harness.live.openmetrics import RunLabels, RunMetrics, families
from harness.live.run_counts import RunCounts
from harness.live.telemetry_tail import TelemetryTail

# A scraper that is a little late is waited for; one with a longer period than this is not.
_LATE_S = 1.0
_PERIOD_MOST_S = 60.0
# A scraper without a scrape for longer is gone.
GONE_S = _PERIOD_MOST_S + _LATE_S


@dataclass(frozen=True)
class RunInProgress:
    """A run in progress: the labels that identify it, its counts, and the CPU and memory of its processes."""

    labels: RunLabels
    counts: RunCounts
    telemetry: TelemetryTail

    def metrics(self) -> RunMetrics:
        """Return its metrics of this moment."""
        return RunMetrics(self.labels, self.counts.snapshot(), tuple(self.telemetry.uses().values()))


@dataclass(frozen=True)
class _EndedRun:
    """The final metrics of the run with this number, which ended at `ended_s`."""

    number: int
    ended_s: float
    metrics: RunMetrics


class RunsCollector(Collector):
    """Collects the run in progress. Its methods may be called by different threads.

    An ended run is collected until the next one begins and every scraper has its final counts, and not longer than the
    slowest scraper needs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._current: RunInProgress | None = None
        self._ended: list[_EndedRun] = []
        self._final_count = self._seen_count = 0

    @property
    def final_count(self) -> int:
        """How many runs have ended so far."""
        with self._lock:
            return self._final_count

    @property
    def is_final(self) -> bool:
        """Whether runs have ended and none is in progress: no count changes any more."""
        with self._lock:
            return self._final_count > 0 and self._current is None

    def begin(self, run: RunInProgress) -> None:
        """Collect this run from now on; one that has not ended is left out, because its counts are not known."""
        with self._lock:
            self._current = run

    def add(self, samples: Sequence[Sample], active_users: int | None = None) -> None:
        """Count new samples, as RunCounts does."""
        with self._lock:
            if self._current:
                self._current.counts.add(samples, active_users)

    def end(self) -> None:
        """Note that no more samples of the run come."""
        with self._lock:
            if self._current is None:
                return
            self._current.counts.end()
            self._final_count += 1
            self._ended.append(_EndedRun(self._final_count, time.monotonic(), self._current.metrics()))
            self._current = None

    def note_seen(self, count: int) -> None:
        """Note that every scraper has the final counts of the first `count` runs."""
        with self._lock:
            self._seen_count = count

    def collect(self) -> Iterator[Metric]:
        """Return the metric families of this moment."""
        with self._lock:
            self._forget()
            runs = [run.metrics for run in self._ended] + ([self._current.metrics()] if self._current else [])
        yield from families(runs)

    def _forget(self) -> None:
        """Remove the ended runs that no scraper needs; the last one stays while no run is in progress."""
        last = [] if self._current else self._ended[-1:]
        before = self._ended[: len(self._ended) - len(last)]
        since_s = time.monotonic() - GONE_S
        self._ended = [run for run in before if run.number > self._seen_count and run.ended_s > since_s] + last


@dataclass(frozen=True)
class Scraper:
    """A client that came at least once: when it came last (s), and how long after the time before.

    It has the final counts of the first `final_count` runs.
    """

    last_s: float
    period_s: float | None = None
    final_count: int = 0

    def scraped(self, now_s: float, final_count: int) -> Scraper:
        """Return the scraper after it came again."""
        return Scraper(now_s, now_s - self.last_s, final_count)

    def wait_s(self, now_s: float, final_count: int) -> float:
        """Return how long to wait for its next scrape; 0 when it has so many final counts, or when it is not expected.

        It is expected a period after the last time. A scraper that came once has no period yet.
        """
        if self.final_count >= final_count or self.period_s is None or self.period_s > _PERIOD_MOST_S:
            return 0.0
        return max(0.0, self.last_s + self.period_s + _LATE_S - now_s)


def wait_s(scrapers: Iterable[Scraper], now_s: float, final_count: int) -> float:
    """Return how long to wait until every scraper that is expected has the final counts of so many runs."""
    return max((scraper.wait_s(now_s, final_count) for scraper in scrapers), default=0.0)


def seen_count(scrapers: Iterable[Scraper], now_s: float) -> int:
    """Return of how many runs every scraper that is not gone has the final counts; 0 without scrapers."""
    return min((one.final_count for one in scrapers if now_s - one.last_s <= GONE_S), default=0)
