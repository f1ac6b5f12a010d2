"""Checks the load generator with Little's law: users = throughput × time that a user spends per sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.base.units import MS_PER_S
from harness.metrics.timeline import SecondFigures


@dataclass(frozen=True)
class LittlesLaw:
    """Average active users according to JMeter, and throughput × (mean response time + think time) in the same seconds.

    `ratio` is the second divided by the first: 1.0 when every active user was always waiting or thinking.
    Source: J. D. C. Little, "A Proof for the Queuing Formula L = λW", 1961.
    """

    active_users: float
    peak_users: int
    busy_users: float
    ratio: float
    over_s: float


def littles_law(seconds: Sequence[SecondFigures], span_ms: int, think_time_s: float = 0.0) -> LittlesLaw | None:
    """Return the check for seconds that last `span_ms` in total; `think_time_s` is the pause before a request.

    None without users: the JTL lacks allThreads or has no samples.
    """
    users = [second.active_users for second in seconds if second.active_users is not None]
    if not users or not sum(users) or span_ms <= 0:
        return None
    active = sum(users) / len(users)
    elapsed_ms = sum(second.elapsed_sum_ms for second in seconds)
    sample_count = sum(second.sample_count for second in seconds)
    busy = (elapsed_ms + sample_count * think_time_s * MS_PER_S) / span_ms
    return LittlesLaw(active, max(users), busy, busy / active, span_ms / MS_PER_S)
