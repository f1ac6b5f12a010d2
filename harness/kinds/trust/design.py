"""The design of a trust test: several starts of the system, each with a few runs of the plan."""

from __future__ import annotations

from harness.base import units
from harness.base.errors import UsageError

RUNS_PER_START = 2
# Four degrees of freedom or fewer give intervals that are too wide to be useful.
STARTS, STARTS_LEAST, STARTS_MOST = 6, 3, 12


def starts_within(budget_s: float | None, run_s: float, start_s: float) -> int:
    """Return how many starts fit into the budget; a run takes about `run_s`, a start `start_s`.

    UsageError when too few do.
    """
    if budget_s is None:
        return STARTS
    each_s = RUNS_PER_START * run_s + start_s
    count = int(budget_s / each_s)
    if count < STARTS_LEAST:
        needed_s = STARTS_LEAST * each_s
        raise UsageError(
            f"--max={units.duration_text(budget_s)} is too short: {STARTS_LEAST} starts of {RUNS_PER_START} runs take "
            f"about {units.duration_text(needed_s)}",
            f"give --max={round(needed_s / 60 + 0.5)}m, or a shorter --duration",
        )
    return min(count, STARTS_MOST)
