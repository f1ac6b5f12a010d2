"""The figures of one second of a run, which windows, gaps and trends are found in."""

from __future__ import annotations

from typing import NamedTuple

# Series are averaged over so many seconds before a window is chosen.
BATCH_S = 5


class SecondFigures(NamedTuple):
    """The samples that ended within one second, and how many lasted throughout it.

    `active_users` is the maximum in it, None without samples.
    """

    sample_count: int
    elapsed_sum_ms: int
    active_users: int | None
    error_count: int = 0
    waiting_count: int = 0
