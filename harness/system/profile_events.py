"""The events of a profile of JVMs: reads profile.tsv.gz, which sums up recordings per second.

harness/system/java/ReadProfile.java writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from harness.base.units import MS_PER_S
from harness.system.profile_cost import LETTER

FILE_NAME = "profile.tsv.gz"
# Of recordings from before their period was stored.
PERIOD_UNKNOWN_MS = 10.0
_PERIOD = re.compile(r"(\d+) ?(ms|s)")
# The recorder of methods that every JDK has, and the only one of older files.
JFR = "JFR"


@dataclass(frozen=True)
class EventRow:
    """Events of one second with the same stack and texts."""

    second: int
    stack: tuple[str, ...]
    detail: str
    other: str
    count: int
    total: int
    longest: int


@dataclass(frozen=True)
class VirtualThreads:
    """The virtual threads of a JVM: most at a time, and how thread dumps sampled them.

    `sample_period_ms` is the mean time between two dumps, `cost_ratio` the share of a core that they took. `problem`
    is why their waits are not known, "" when they are.
    """

    most_count: int
    sample_period_ms: float
    cost_ratio: float
    problem: str = ""


@dataclass
class Events:
    """The events of one process by kind, the recorder of its methods, why async-profiler is not it, and its period.

    `virtual` is None without virtual threads. `event_counts` are those of each recorder, and `cpu_s` is the CPU time of
    the parts of the profile (harness/system/profile_cost.py).
    """

    rows: dict[str, list[EventRow]] = field(default_factory=dict)
    recorder: str = JFR
    no_agent: str = ""
    sample_period_ms: float = PERIOD_UNKNOWN_MS
    has_safepoints: bool = False
    has_other_waits: bool = False
    virtual: VirtualThreads | None = None
    event_counts: dict[str, int] = field(default_factory=dict)
    cpu_s: dict[str, float] = field(default_factory=dict)


def read_events(lines: Iterable[str]) -> Mapping[str, Events]:
    """Return the events of each process from the lines of profile.tsv.gz; an incomplete last line is skipped."""
    by_process: dict[str, Events] = {}
    stacks: dict[str, tuple[str, ...]] = {}
    events = Events()
    for line in lines:
        kind, *texts = line.rstrip("\n").split("\t")
        if kind == "P" and texts:
            stacks, events = {"-1": ()}, Events()
            by_process[texts[0]] = events
        elif kind == "R" and len(texts) == 2:
            events.recorder, events.no_agent = texts
            events.has_safepoints = True
        elif kind == "V" and len(texts) == 4:
            events.virtual = _virtual(*texts)
            events.has_other_waits = True
        elif kind == "M" and len(texts) == 2 and texts[1].isdigit():
            events.event_counts[texts[0]] = int(texts[1])
        elif kind == LETTER and len(texts) == 3 and texts[0] in by_process:
            by_process[texts[0]].cpu_s[texts[1]] = float(texts[2])
        elif kind == "S" and len(texts) == 2:
            stacks[texts[0]] = tuple(filter(None, texts[1].split(";")))
        elif kind == "T" and len(texts) == 2 and (period := _PERIOD.fullmatch(texts[1])):
            events.sample_period_ms = float(period[1]) * (MS_PER_S if period[2] == "s" else 1)
        elif kind == "E" and len(texts) == 8 and texts[2] in stacks and texts[7].isdigit():
            count, total, longest = map(int, texts[5:])
            row = EventRow(int(texts[1]), stacks[texts[2]], texts[3], texts[4], count, total, longest)
            events.rows.setdefault(texts[0], []).append(row)
    return by_process


def _virtual(most: str, period_ms: str, cost: str, problem: str) -> VirtualThreads | None:
    """Return what a line has about virtual threads; None when there were none."""
    found = VirtualThreads(int(most), float(period_ms), float(cost), problem)
    return found if found.most_count else None
