"""Checks the load generator with Little's law: the time of the users is that of their requests and of their pauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.base.units import MS_PER_S
from harness.metrics.interval import Interval
from harness.metrics.load_seconds import spells_of
from harness.metrics.timeline import SecondFigures


@dataclass(frozen=True)
class LittlesLaw:
    """Average active users according to JMeter, and those who waited or paused on average in the same seconds.

    `pausing_users` are those of them who paused; absent in older files. `ratio` is the second number divided by the
    first: 1.0 when every active user was always waiting or thinking.
    Source: J. D. C. Little, "A Proof for the Queuing Formula L = λW", 1961.
    """

    active_users: float
    peak_users: int
    busy_users: float
    ratio: float
    over_s: float
    pausing_users: float = 0.0


def littles_law(
    seconds: Sequence[SecondFigures],
    span_ms: int,
    waited_ms: float,
    paused_ms: float = 0.0,
    active_ms: float | None = None,
) -> LittlesLaw | None:
    """Return the check for seconds that last `span_ms` in total, in which users waited and paused.

    `active_ms` is for how long users were there, where that was counted; else their number is that of the samples.
    None without users: the JTL lacks allThreads or has no samples.
    """
    users = [second.active_users for second in seconds if second.active_users is not None]
    if not users or not sum(users) or span_ms <= 0:
        return None
    active = sum(users) / len(users) if not active_ms else active_ms / span_ms
    waiting, pausing = waited_ms / span_ms, paused_ms / span_ms
    busy = waiting + pausing
    return LittlesLaw(active, max(users), busy, busy / active, span_ms / MS_PER_S, pausing)


def waiting_ms(seconds: Sequence[SecondFigures], window: Interval) -> float:
    """Return for how long requests were in flight within the window, whole seconds from the first of `seconds` on.

    A sample counts in the second in which it ends, with its whole time. What is before or after the window is taken
    from the average of that second: exact where the samples of a second are of about one length.
    """
    total = 0.0
    ends = (
        (at + window.from_s, spell.value)
        for spell in spells_of(seconds[window.from_s :])
        if spell.value.sample_count
        for at in range(spell.from_s, spell.to_s)
    )
    for at, second in ends:
        before_ms = max(0.0, second.elapsed_sum_ms - second.sample_count * MS_PER_S * (at + 0.5 - window.from_s))
        if at < window.to_s:
            total += second.elapsed_sum_ms - before_ms
            continue
        after_ms = second.sample_count * MS_PER_S * (at + 0.5 - window.to_s)
        total += max(0.0, second.elapsed_sum_ms - after_ms - before_ms)
    return total
