"""Remembers who scrapes the metrics of runs, and how long the last of them needs for the final counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# A scraper that is a little late is waited for; one with a longer period than this is not.
_LATE_S = 1.0
_PERIOD_MOST_S = 60.0
# A scraper without a scrape for longer is gone.
GONE_S = _PERIOD_MOST_S + _LATE_S


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
