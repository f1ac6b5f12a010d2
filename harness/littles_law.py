"""Little's law as a check of the generator: users must equal throughput times the time a user spends per sample."""

from __future__ import annotations

from dataclasses import dataclass

from harness.units import MS_PER_S


@dataclass(frozen=True)
class LittlesLaw:
    """Average users that JMeter says were active, against throughput x (mean response + think time) then.

    `ratio` is the second over the first: 1.0 when every active user was always waiting or thinking.
    Source: J. D. C. Little, "A Proof for the Queuing Formula L = λW", 1961.
    """

    active_users: float
    peak_users: int
    busy_users: float
    ratio: float
    over_s: float


class ConcurrencyMeter:
    """Adds up elapsed time and reads the number of active users per second from allThreads."""

    def __init__(self) -> None:
        self._elapsed_ms = 0
        self._sample_count = 0
        self._first_ms: int | None = None
        self._last_ms = 0
        self._users_by_second: dict[int, int] = {}

    def add(self, start_ms: int, elapsed_ms: int, all_threads: int | None) -> None:
        """Count one sample; `all_threads` are the users active when it ended."""
        end_ms = start_ms + elapsed_ms
        self._elapsed_ms += elapsed_ms
        self._sample_count += 1
        self._first_ms = start_ms if self._first_ms is None else min(self._first_ms, start_ms)
        self._last_ms = max(self._last_ms, end_ms)
        if all_threads is not None:
            second = end_ms // MS_PER_S
            self._users_by_second[second] = max(all_threads, self._users_by_second.get(second, 0))

    def littles_law(self, think_time_s: float = 0.0) -> LittlesLaw | None:
        """Return the check over all that was added, with the pause before a request; None without users."""
        if self._first_ms is None or self._last_ms <= self._first_ms or not self._users_by_second:
            return None
        seconds = range(min(self._users_by_second), max(self._users_by_second) + 1)
        users, user_seconds = 0, 0
        for second in seconds:
            users = self._users_by_second.get(second, users)  # a second without an answer: the last known number
            user_seconds += users
        active = user_seconds / len(seconds)
        busy = (self._elapsed_ms + self._sample_count * think_time_s * MS_PER_S) / (self._last_ms - self._first_ms)
        if not active:
            return None
        over_s = (self._last_ms - self._first_ms) / MS_PER_S
        return LittlesLaw(active, max(self._users_by_second.values()), busy, busy / active, over_s)
