"""The levels of an overload test: one open load whose rate rises step by step, and falls back at the end.

All levels follow each other in one run: a queue that one level fills is there in the next one. The first stage is a
warm-up and is not counted. After the highest level the rate falls to that of the first level for the
rest of the run: the system recovers, or it does not.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.plan.jmx.tree import LOAD_GROUP
from harness.plan.load.groups import REQUEST, GroupLoad, SeveralLoads, Stage
from harness.plan.load.model import PlanLoad

# The rates of the counted levels, as shares of the capacity.
OFFERED_RATIOS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
REST_RATIO, MOST_RATIO = OFFERED_RATIOS[0], OFFERED_RATIOS[-1]
# The last stage is so many levels long: a queue that grew at 25 %, 50 % and 100 % above the capacity is served in 3.5
# levels at half of it.
RECOVERY_LEVELS = 5
# The same queue, in levels of work at 100 %: the last of its requests waits for so many levels.
OVERLOAD_LEVELS = sum(max(0.0, ratio - 1.0) for ratio in OFFERED_RATIOS)
LEVEL_LEAST_S, LEVEL_MOST_S = 10, 3600
# With fewer good answers among the requests of the first level the system is overloaded from the beginning.
REST_GOOD_LEAST_RATIO = 0.9


@dataclass(frozen=True)
class OverloadLevel:
    """A counted level: its rate as a share of the capacity, and its seconds after the first arrival."""

    offered_ratio: float
    from_s: int
    to_s: int


def stages(capacity_per_s: float, level_s: int) -> tuple[Stage, ...]:
    """Return the stages of the load; `capacity_per_s` are the new users per second of 100 %."""
    parts = [*((ratio, 1) for ratio in (REST_RATIO, *OFFERED_RATIOS)), (REST_RATIO, RECOVERY_LEVELS)]
    return tuple(Stage(None, round(capacity_per_s * ratio, 6), 0.0, float(levels * level_s)) for ratio, levels in parts)


def load_of(plan: PlanLoad, capacity_per_s: float, level_s: int) -> SeveralLoads:
    """Return the load of a variant: new users in steps, who pause like those of the plan."""
    per = None if plan.think_time_per == REQUEST else plan.think_time_per
    return SeveralLoads((GroupLoad(LOAD_GROUP, stages(capacity_per_s, level_s), plan.think_time_s, per),))


def counted_levels(level_s: int) -> tuple[OverloadLevel, ...]:
    """Return the counted levels: all stages but the warm-up and the recovery."""
    return tuple(
        OverloadLevel(ratio, index * level_s, (index + 1) * level_s)
        for index, ratio in enumerate(OFFERED_RATIOS, start=1)
    )


def scheduled_users(level: OverloadLevel, capacity_per_s: float) -> float:
    """Return the users of the schedule from the begin of the warm-up to the end of a counted level."""
    level_s = level.to_s - level.from_s
    so_far = OFFERED_RATIOS[: level.from_s // level_s]
    return capacity_per_s * level_s * (REST_RATIO + sum(so_far))


def recovery_level(level_s: int) -> OverloadLevel:
    """Return the stage after the fall of the load."""
    fall_s = (1 + len(OFFERED_RATIOS)) * level_s
    return OverloadLevel(REST_RATIO, fall_s, fall_s + RECOVERY_LEVELS * level_s)


def load_s(level_s: int) -> int:
    """Return the length of all stages, s."""
    return recovery_level(level_s).to_s
