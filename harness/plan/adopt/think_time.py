"""Makes the pauses of a JMX the think time of its plan; other pauses stay, and get none beside them."""

from __future__ import annotations

from typing import NamedTuple

from harness.base.units import MS_PER_S
from harness.plan.adopt.draft import Fix
from harness.plan.adopt.variables import Variables
from harness.plan.jmx.think_time import NAME, is_pause, think_timer
from harness.plan.jmx.tree import VARIABLE, Node, reads_of
from harness.plan.jmx_writer import call

_DELAY = "ConstantTimer.delay"


class Pauses(NamedTuple):
    """What pauses the users of a thread group.

    `think_time_s` sets their pause, which has this length now; it is None when they have others, `are_own`, or none.
    `timer` is the one that must still be changed for that.
    """

    think_time_s: float | None
    timer: Node | None
    are_own: bool


def pauses_of(mapping: Variables, group: Node) -> Pauses:
    """Return what pauses the users of a thread group: in it, and above all groups."""
    pauses = [node for node in mapping.nodes if is_pause(node) and (node.thread_group or group) is group]
    texts = (text for node in pauses for text in node.element.itertext())
    if any(NAME in mapping.values.properties_in(text) for text in texts):
        reads = (read.default for read in reads_of(mapping.draft.root) if read.name == NAME)
        return Pauses(_seconds(next(reads, None)) or 0.0, None, are_own=False)
    is_for_all = len(pauses) == 1 and (pauses[0].parent is group or pauses[0].parent is mapping.nodes[0])
    if is_for_all and pauses[0].kind == "ConstantTimer":
        raw = pauses[0].value(_DELAY).strip()
        is_plain = _seconds(raw) is not None or (VARIABLE.fullmatch(raw) and not mapping.values.properties_in(raw))
        pause_s = _seconds(mapping.known(raw)) if is_plain else None
        if pause_s is not None:
            return Pauses(pause_s, pauses[0], are_own=False)
    return Pauses(None, None, are_own=bool(pauses))


def _seconds(text: str | None) -> float | None:
    """Return a whole number of milliseconds in seconds; None for any other text."""
    number = (text or "").strip()
    return int(number) / MS_PER_S if number.isascii() and number.isdecimal() else None


def fix_think_time(mapping: Variables, group: Node, default_ms: str) -> None:
    """Have the property think_time_ms set the pauses of a group; one without any gets a timer."""
    pauses, read = pauses_of(mapping, group), call("__P", NAME, default_ms)
    if pauses.timer:
        mapping.map(pauses.timer, _DELAY, str(read), reads=NAME, fix=Fix.LOAD)
    elif pauses.think_time_s is None and not pauses.are_own:
        mapping.draft.add_below(group, think_timer(read), Fix.LOAD)
