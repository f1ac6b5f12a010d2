"""How much longer a sweep takes."""

from __future__ import annotations

from collections.abc import Sequence


def time_left_s(
    planned_s: Sequence[float | None], done: Sequence[tuple[float | None, float]], first_guess_s: float
) -> float | None:
    """Return the seconds that the planned runs will take; None while it cannot be told.

    `planned_s` are the durations of their loads (None: loops end them), `done` the (planned, taken) seconds of the runs
    so far. A run takes more than its load: what those so far took more on average, before the first `first_guess_s`.
    A run of loops takes as long as those so far did on average, though users differ.
    """
    over_s = [taken - planned for planned, taken in done if planned is not None]
    overhead_s = sum(over_s) / len(over_s) if over_s else first_guess_s
    mean_s = sum(taken for _, taken in done) / len(done) if done else None
    total_s = 0.0
    for planned in planned_s:
        if planned is not None:
            total_s += planned + overhead_s
        elif mean_s is not None:
            total_s += mean_s
        else:
            return None
    return total_s
