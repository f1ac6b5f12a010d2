"""Remembers who scrapes the metrics of a run, and how long the last of them needs for the final counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# A scraper that is a little late is waited for; one with a longer period than this is not.
_LATE_S = 1.0
_PERIOD_MOST_S = 60.0


@dataclass(frozen=True)
class Scraper:
    """A client that came at least once: when it came last (s), and how long after the time before."""

    last_s: float
    period_s: float | None = None
    has_final: bool = False

    def scraped(self, now_s: float, *, is_final: bool) -> Scraper:
        """Return the scraper after it came again."""
        return Scraper(now_s, now_s - self.last_s, is_final)

    def wait_s(self, now_s: float) -> float:
        """Return how long to wait for its last scrape: 0 when it has the final counts, or when it is not expected.

        It is expected a period after the last time. A scraper that came once has no period yet.
        """
        if self.has_final or self.period_s is None or self.period_s > _PERIOD_MOST_S:
            return 0.0
        return max(0.0, self.last_s + self.period_s + _LATE_S - now_s)


def wait_s(scrapers: Iterable[Scraper], now_s: float) -> float:
    """Return how long to wait until every scraper that is expected has the final counts."""
    return max((scraper.wait_s(now_s) for scraper in scrapers), default=0.0)
