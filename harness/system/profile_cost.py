"""What a profile costs a JVM: the CPU time of its parts, measured during the run.

Threads of recorders, thread dumps and the reading of waits for a CPU are measured. What recording costs in the system's
own threads is their number of events, each at the most that was measured (docs/benchmarks.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# CPU time of an event with its stack: with 40 frames 2 µs of JFR, 7 µs of async-profiler.
EVENT_US: Mapping[str, float] = {"JFR": 4.0, "async-profiler": 10.0}
_US_PER_S = 1_000_000
# The letter of a cost in profile.tsv.gz, what costs are a share of, and how long they were measured.
LETTER, WHOLE, LENGTH = "K", "", "length"


@dataclass(frozen=True)
class ProfileCost:
    """What a part of a profile cost a JVM: CPU time, s, and its ratio of what the JVM used, at least of one core."""

    part: str
    cpu_s: float
    ratio: float


def costs_of(
    parts: Mapping[str, float], events: Mapping[str, int], dumps_ratio: float = 0.0
) -> tuple[ProfileCost, ...]:
    """Return the costs, the largest first: CPU times by part, events by recorder, and dumps by their share of a core.

    There are none without the whole, as in older files.
    """
    whole_s, length_s = parts.get(WHOLE, 0.0), parts.get(LENGTH, 0.0)
    if not whole_s:
        return ()
    found = {part: cpu_s for part, cpu_s in parts.items() if part not in (WHOLE, LENGTH)}
    found |= {f"events of {name}": count * EVENT_US.get(name, 0.0) / _US_PER_S for name, count in events.items()}
    if dumps_ratio:
        found["thread dumps"] = dumps_ratio * length_s
    costs = (ProfileCost(part, round(cpu_s, 3), round(cpu_s / whole_s, 5)) for part, cpu_s in found.items())
    return tuple(sorted(costs, key=lambda cost: (-cost.ratio, cost.part)))
