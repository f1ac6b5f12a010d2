"""Intervals of time: whole seconds, and instants in milliseconds."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """Whole seconds: from_s <= t < to_s."""

    from_s: int
    to_s: int

    @property
    def length_s(self) -> int:
        """The number of seconds."""
        return self.to_s - self.from_s


class IntervalMs(NamedTuple):
    """The time between two instants, ms since 1970; its user defines whether the end is part of it."""

    from_ms: int
    to_ms: int

    @property
    def length_ms(self) -> int:
        """The time from its begin to its end."""
        return self.to_ms - self.from_ms


class SecondSpan(NamedTuple):
    """The first and the last second (s since 1970) in which something happened; both are part of it."""

    first_s: int
    last_s: int
