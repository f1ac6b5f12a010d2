"""Reads the schedules of thread groups: as the stages or the rate of a load."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from harness.plan.adopt.variables import Variables
from harness.plan.jmx.thread_groups import ROWS, ScheduleRow
from harness.plan.jmx.tree import Node, function_parameters
from harness.plan.load.groups import Stage

ULTIMATE, CONCURRENCY, ARRIVALS = "UltimateThreadGroup", "ConcurrencyThreadGroup", "ArrivalsThreadGroup"
STEPPING = "SteppingThreadGroup"
FREE_FORM, OPEN_MODEL = "FreeFormArrivalsThreadGroup", "OpenModelThreadGroup"
_FEEDBACK = re.compile(r"\$\{__tstFeedback\(")
# The parameters of __tstFeedback: the timer's name, the first users, the most users, the spare ones.
_MOST_USERS = 2
_S_PER_MINUTE = 60
# A step of JMeter's Open Model Thread Group: rate(5/sec), random_arrivals(10 min), pause(1.5 s).
_OPEN_STEP = re.compile(r"\s*(rate|random_arrivals|even_arrivals|pause)\(\s*([\d.]+)\s*(/?)\s*([a-z]+)\s*\)\s*")
_OPEN_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_OPEN_UNITS_S = {
    0.001: ("ms",),
    1.0: ("s", "sec", "second", "seconds"),
    60.0: ("m", "min", "minute", "minutes"),
    3600.0: ("h", "hour", "hours"),
    86400.0: ("d", "day", "days"),
}
_RATE, _PAUSE = "rate", "pause"
# What the Stepping Thread Group has, in the order of `_Steps`.
_STEPPING = (
    "ThreadGroup.num_threads",
    "Threads initial delay",
    "Start users count burst",
    "Start users count",
    "Start users period",
    "rampUp",
    "flighttime",
    "Stop users count",
    "Stop users period",
)
# JMeter's thread groups know whole seconds only.
_JUMP_S = 1


class _RateRow(NamedTuple):
    """Arrivals that go from one rate to another (per s) within a time (s)."""

    first: float
    last: float
    length_s: float


class _Steps(NamedTuple):
    """The numbers of a Stepping Thread Group: `burst` users start first, then `more` at a time."""

    users: int
    delay_s: int
    burst: int
    more: int
    period_s: int
    ramp_s: int
    hold_s: int
    fewer: int
    end_period_s: int


def simple_kind(group: Node) -> str:
    """Return the class of a thread group without packages."""
    return group.kind.rpartition(".")[2]


def seconds(mapping: Variables, group: Node, name: str) -> int:
    """Return a time of a thread group with a time unit, s; 0 for other groups."""
    return max(0, mapping.number(group.value(name), 0)) * _unit_s(group)


def rate_per_s(mapping: Variables, group: Node) -> float | None:
    """Return the greatest arrivals per second of a group whose users arrive; None for other groups."""
    if simple_kind(group) == FREE_FORM:
        return max((stage.rate_per_s or 0.0 for stage in stages_of(mapping, group)), default=None)
    if simple_kind(group) != ARRIVALS:
        return None
    return max(1, mapping.number(group.value("TargetLevel"), 1)) / _unit_s(group)


def _unit_s(group: Node) -> int:
    return _S_PER_MINUTE if group.value("Unit") == "M" else 1


def feedback_users(mapping: Variables, group: Node) -> int | None:
    """Return the most users of a group whose number a Throughput Shaping Timer sets; None for other groups."""
    text = group.value("TargetLevel")
    found = _FEEDBACK.search(text)
    parameters = function_parameters(text, found.end()).texts if found else []
    return mapping.number(parameters[_MOST_USERS], 1) if len(parameters) > _MOST_USERS else None


def stages_of(mapping: Variables, group: Node) -> tuple[Stage, ...]:
    """Return the stages of a thread group with a table of rows, or with steps; else none."""
    if simple_kind(group) == ULTIMATE:
        return ultimate_stages(_rows(mapping, group))
    if simple_kind(group) == STEPPING:
        return _step_stages(_Steps(*(mapping.number(group.value(name) or "0", -1) for name in _STEPPING)))
    if simple_kind(group) == FREE_FORM:
        return _rate_stages(_arrivals(mapping, group))
    if simple_kind(group) == OPEN_MODEL:
        return _rate_stages(_open_rows(mapping.known(group.value("OpenModelThreadGroup.schedule")) or ""))
    steps = mapping.number(group.value("Steps"), 0) if simple_kind(group) in (CONCURRENCY, ARRIVALS) else 0
    ramp_s = seconds(mapping, group, "RampUp")
    if not 1 < steps <= ramp_s:
        return ()
    users = feedback_users(mapping, group) or max(1, mapping.number(group.value("TargetLevel"), 1))
    rate = rate_per_s(mapping, group)
    times = [round(ramp_s * number / steps) for number in range(steps + 1)]
    times[-1] += seconds(mapping, group, "Hold")
    shares = [number / steps for number in range(1, steps + 1)]
    return tuple(
        Stage(None, rate * share, 0.0, float(end_s - begin_s))
        if rate
        else Stage(max(1, round(users * share)), None, 0.0, float(end_s - begin_s))
        for share, (begin_s, end_s) in zip(shares, pairwise(times), strict=True)
    )


def arrives_evenly(mapping: Variables, group: Node) -> bool:
    """Return whether some of the arrivals of an Open Model Thread Group have equal distances."""
    schedule = mapping.known(group.value("OpenModelThreadGroup.schedule")) or ""
    return simple_kind(group) == OPEN_MODEL and "even_arrivals(" in _OPEN_COMMENT.sub(" ", schedule)


def _arrivals(mapping: Variables, group: Node) -> Iterator[_RateRow]:
    """Yield the rows of a Free-Form Arrivals Thread Group."""
    for line in group.element.iterfind("collectionProp[@name='Schedule']/*"):
        begin, end, length, *_ = [*(_decimal(mapping, cell.text or "") for cell in line), 0.0, 0.0, 0.0]
        yield _RateRow(begin / _unit_s(group), end / _unit_s(group), float(round(length * _unit_s(group))))


def _open_rows(schedule: str) -> list[_RateRow]:
    """Return the schedule of an Open Model Thread Group; nothing where a part of it is not known before the run.

    Arrivals have the rate before them, and go to the one that follows them.
    """
    steps: list[tuple[str, float]] = []
    text, at = _OPEN_COMMENT.sub(" ", schedule), 0
    units_s = {name: unit_s for unit_s, names in _OPEN_UNITS_S.items() for name in names}
    while at < len(text.rstrip()):
        step = _OPEN_STEP.match(text, at)
        unit_s = units_s.get(step[4]) if step else None
        if step is None or unit_s is None or step[2].count(".") > 1 or (step[1] == _RATE) != bool(step[3]):
            return []
        steps.append((step[1], float(step[2]) / unit_s if step[3] else float(step[2]) * unit_s))
        at = step.end()
    rows, rate = [], 0.0
    for (name, value), (following, next_value) in pairwise([*steps, ("", 0.0)]):
        if name == _RATE:
            rate = value
        elif name == _PAUSE:
            rows.append(_RateRow(0.0, 0.0, value))
        else:
            rows.append(_RateRow(rate, next_value if following == _RATE else rate, value))
    return rows


def _rate_stages(rows: Iterable[_RateRow]) -> tuple[Stage, ...]:
    """Return the stages of rows that go from one rate to another."""
    stages: list[Stage] = []
    level = 0.0
    for first, last, length_s in rows:
        ramp_s = length_s
        if length_s > _JUMP_S and first not in (level, last):
            stages.append(Stage(None, first, 0.0, float(_JUMP_S)))
            ramp_s -= _JUMP_S
        if ramp_s:
            stages.append(Stage(None, last, 0.0, ramp_s) if first == last else Stage(None, last, ramp_s, 0.0))
        level = last
    return tuple(stages)


def _decimal(mapping: Variables, raw: str) -> float:
    """Return a number that is known before the run, at least 0; else 0."""
    try:
        value = float(mapping.known(raw) or "")
    except ValueError:
        return 0.0
    return value if 0 < value < float("inf") else 0.0


def _rows(mapping: Variables, group: Node) -> list[ScheduleRow]:
    lines = group.element.iterfind(f"collectionProp[@name='{ROWS}']/*")
    numbers = ([max(0, mapping.number(cell.text or "", 0)) for cell in line] for line in lines)
    return [ScheduleRow(*row) for row in numbers if len(row) == len(ScheduleRow._fields) and row[0]]


def _step_stages(steps: _Steps) -> tuple[Stage, ...]:
    """Return the stages of a Stepping Thread Group; nothing where a number is not known before the run."""
    if min(steps) < 0 or not steps.users:
        return ()
    more, fewer = steps.more or steps.users, steps.fewer or steps.users
    first = min(steps.burst or more, steps.users)
    levels = [*range(first, steps.users, more), steps.users]
    last = (steps.users - first) % more or more
    stages = [
        Stage(0, None, 0.0, float(steps.delay_s)),
        *(Stage(level, None, float(steps.ramp_s), float(steps.period_s)) for level in levels[:-1]),
        Stage(steps.users, None, float(round(steps.ramp_s * last / more)), float(steps.hold_s)),
        *(Stage(left, None, 0.0, float(steps.end_period_s)) for left in range(steps.users - fewer, 0, -fewer)),
    ]
    return tuple(stage for stage in stages if stage.over_s or stage.for_s)


def ultimate_stages(rows: Sequence[ScheduleRow]) -> tuple[Stage, ...]:
    """Return the stages that have as many users as the rows of an Ultimate Thread Group, at each whole second."""
    times = sorted({0, *(time_s for row in rows for time_s in _times(row))})
    stages: list[Stage] = []
    level = 0
    for begin_s, end_s in pairwise(times):
        first, last = (round(sum(_users(row, begin_s, end_s, at_s) for row in rows)) for at_s in (begin_s, end_s))
        for stage in _interval(level, first, last, end_s - begin_s):
            if stages and stage.over_s == 0 and stage.users == stages[-1].users:
                stages[-1] = Stage(stage.users, None, stages[-1].over_s, stages[-1].for_s + stage.for_s)
            else:
                stages.append(stage)
        level = last
    return tuple(stages)


def _times(row: ScheduleRow) -> tuple[int, ...]:
    full_s = row.delay_s + row.ramp_s
    return row.delay_s, full_s, full_s + row.hold_s, full_s + row.hold_s + row.end_s


def _users(row: ScheduleRow, begin_s: int, end_s: int, at_s: int) -> float:
    """Return the users of a row at the begin or the end of an interval without a change of slope in it."""
    start_s, full_s, fall_s, stop_s = _times(row)
    if end_s <= start_s or begin_s >= stop_s:
        return 0.0
    if end_s <= full_s:
        return row.users * (at_s - start_s) / row.ramp_s
    return float(row.users) if end_s <= fall_s else row.users * (stop_s - at_s) / row.end_s


def _interval(before: int, first: int, last: int, length_s: int) -> Iterator[Stage]:
    """Yield the stages of an interval that begins with `first` users, after `before`, and ends with `last`."""
    if first == last:
        yield Stage(last, None, 0.0, float(length_s))
        return
    if before != first and length_s > _JUMP_S:
        yield Stage(first, None, 0.0, float(_JUMP_S))
        length_s -= _JUMP_S
    yield Stage(last, None, float(length_s), 0.0)
