"""Finds when a system is again as good as before an overload."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.overload.attempts import Attempt, Outcome
from harness.overload.levels import REST_GOOD_LEAST_RATIO, Level

WINDOW_S = 5
# A window may be so much worse than the worst one before the overload: there are only a few of those.
TOLERANCE_RATIO = 0.10
_P90 = 0.9


@dataclass(frozen=True)
class Recovery:
    """The recovery from an overload: `after_s` is None when it was not seen within `watched_s`.

    It is the first second after the fall of the load from which on, for five seconds, the goodput was at least
    `goodput_least_per_s` and the p90 at most `p90_most_ms`: those of the worst five seconds of the first level, with a
    tolerance of 10 %. Both are None, with a `reason`, when that level is no measure.
    """

    after_s: int | None
    watched_s: int
    goodput_least_per_s: float | None = None
    p90_most_ms: float | None = None
    reason: str = ""


def recovery_of(attempts: Sequence[Attempt], before: Level, after: Level) -> Recovery:
    """Return the recovery; `before` is the first level, `after` the stage after the fall of the load."""
    watched_s = after.to_s - after.from_s
    rest = [attempt.outcome for attempt in attempts if before.from_s <= attempt.start_s < before.to_s]
    if rest.count(Outcome.GOOD) < REST_GOOD_LEAST_RATIO * len(rest):
        return Recovery(
            None, watched_s, reason="the first level was an overload already: there is nothing to return to"
        )
    windows = list(_windows(attempts, before))
    goodputs_per_s = [window.goodput_per_s for window in windows]
    p90s_ms = [window.p90_ms for window in windows if window.p90_ms is not None]
    if not windows or len(p90s_ms) < len(windows) or not min(goodputs_per_s):
        what = f"some {WINDOW_S} s of the first level have no answer within the goal: there is nothing to return to"
        return Recovery(None, watched_s, reason=what)
    least_per_s, most_ms = min(goodputs_per_s) * (1 - TOLERANCE_RATIO), max(p90s_ms) * (1 + TOLERANCE_RATIO)
    for second, window in enumerate(_windows(attempts, after)):
        if window.p90_ms is not None and window.goodput_per_s >= least_per_s and window.p90_ms <= most_ms:
            return Recovery(second, watched_s, least_per_s, most_ms)
    return Recovery(None, watched_s, least_per_s, most_ms)


class _Window(NamedTuple):
    """Five seconds of a level: their goodput, and the p90 of all requests; None without any."""

    goodput_per_s: float
    p90_ms: float | None


def _windows(attempts: Sequence[Attempt], level: Level) -> Iterator[_Window]:
    """Yield all windows of five seconds of a level, by their first second."""
    seconds: dict[int, list[Attempt]] = {}
    for attempt in attempts:
        seconds.setdefault(int(attempt.start_s), []).append(attempt)
    for first in range(level.from_s, level.to_s - WINDOW_S + 1):
        found = [attempt for second in range(first, first + WINDOW_S) for attempt in seconds.get(second, ())]
        good = sum(attempt.outcome is Outcome.GOOD for attempt in found)
        yield _Window(good / WINDOW_S, p90_ms(found))


def p90_ms(attempts: Sequence[Attempt]) -> float | None:
    """Return the p90 (ms) of requests by the nearest rank; None without any."""
    elapsed = sorted(attempt.elapsed_ms for attempt in attempts)
    return float(elapsed[math.ceil(_P90 * len(elapsed)) - 1]) if elapsed else None
