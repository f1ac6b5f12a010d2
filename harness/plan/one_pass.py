"""Makes a test plan whose users do everything once: one user per thread group, one iteration."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from harness.base.units import MS_PER_S, number_text, plural
from harness.plan.jmx import SIDE_GROUPS, parse
from harness.plan.thread_groups import LOOPS, LOOPS_ENDLESS, add_loop, add_string

# Timers that wait for other users, or that divide a rate among them.
_TIMERS_OF_MANY = ("SyncTimer", "ConstantThroughputTimer", "PreciseThroughputTimer", "VariableThroughputTimer")
_ON_ERROR = "ThreadGroup.on_sample_error"
# A Flow Control Action that pauses, such as for the ten minutes in which a scheduler works; longer ones last this long.
_PAUSE, _PAUSE_MS, _PAUSE_MOST_MS = "1", "ActionProcessor.duration", 1000
# So many elements of a kind are named.
_NAMED_MOST = 3


class _Pause(NamedTuple):
    """The name of a Flow Control Action, and how long it pauses in the plan."""

    name: str
    length_ms: int


@dataclass(frozen=True)
class OnePass:
    """A plan of one pass; `changes` are sentences about its differences from the plan, except users and iterations."""

    jmx: bytes
    changes: tuple[str, ...]


def one_pass(jmx: Path, left_out: Collection[str] = ()) -> OnePass:
    """Return the plan with a Thread Group of one user and one iteration instead of each thread group of the load.

    setUp and tearDown thread groups stay as they are. Endless loops run once. Timers that need many users are disabled,
    and so are the thread groups `left_out`. Flow Control Actions pause for at most a second.
    """
    tree = parse(jmx)
    timers: list[str] = []
    pauses: list[_Pause] = []
    for element in list(tree.getroot().iter()):
        if element.tag.endswith("ThreadGroup") and element.tag not in SIDE_GROUPS:
            _make_single(element)
            if element.get("testname") in left_out:
                element.set("enabled", "false")
        elif element.tag.rpartition(".")[2] in _TIMERS_OF_MANY:
            if element.get("enabled", "true") == "true":
                timers.append(element.get("testname", element.tag))
            element.set("enabled", "false")
        elif element.tag == "LoopController":
            _end_loop(element)
        elif element.tag == "TestAction" and (pause_ms := _shorten_pause(element)):
            pauses.append(_Pause(element.get("testname", ""), pause_ms))
    written: bytes = ElementTree.tostring(tree.getroot(), encoding="UTF-8", xml_declaration=True)
    return OnePass(written + b"\n", (*_pause_text(pauses), *_timer_text(timers)))


def _make_single(group: ElementTree.Element) -> None:
    """Make a thread group of any kind a Thread Group of one user; its name, state and action after errors stay."""
    preserved = {name: group.get(name, "") for name in ("testname", "enabled") if name in group.attrib}
    action = group.findtext(f"stringProp[@name='{_ON_ERROR}']") or "continue"
    group.clear()
    group.tag = "ThreadGroup"
    group.attrib.update(guiclass="ThreadGroupGui", testclass="ThreadGroup", **preserved)
    add_string(group, _ON_ERROR, action)
    for name in ("num_threads", "ramp_time"):
        add_string(group, f"ThreadGroup.{name}", "1")
    add_loop(group, "1")


def _end_loop(controller: ElementTree.Element) -> None:
    for prop in controller:
        if prop.get("name") == LOOPS and (prop.text or "").strip() == LOOPS_ENDLESS:
            prop.text = "1"


def _shorten_pause(action: ElementTree.Element) -> int:
    """Shorten the pause of a Flow Control Action; return what it was in ms, 0 when it is as in the plan."""
    is_pause = all(prop.text == _PAUSE for prop in action if prop.get("name") == "ActionProcessor.action")
    if not is_pause or action.get("enabled", "true") != "true":
        return 0
    for prop in action:
        text = (prop.text or "").strip()
        if prop.get("name") == _PAUSE_MS and text.isdigit() and int(text) > _PAUSE_MOST_MS:
            prop.text = str(_PAUSE_MOST_MS)
            return int(text)
    return 0


def _pause_text(pauses: Sequence[_Pause]) -> Iterator[str]:
    if pauses:
        longest = number_text(max(pause.length_ms for pause in pauses) / MS_PER_S)
        most = number_text(_PAUSE_MOST_MS / MS_PER_S)
        yield (
            f"pauses of Flow Control Actions last {most} s here, and up to {longest} s in a run: "
            f"{_named(pause.name for pause in pauses)}; what they wait for may not be done"
        )


def _timer_text(timers: Sequence[str]) -> Iterator[str]:
    if timers:
        yield f"timers that need other users are off here: {_named(timers)}"


def _named(names: Iterable[str]) -> str:
    unique = list(dict.fromkeys(names))
    more = len(unique) - _NAMED_MOST
    return ", ".join(unique[:_NAMED_MOST]) + (f" and {plural(more, 'more element')}" if more > 0 else "")
