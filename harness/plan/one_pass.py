"""Makes a test plan whose users do everything once: one user per thread group, one iteration."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from harness.plan.jmx import SIDE_GROUPS, parse

# Timers that wait for other users, or that divide a rate among them.
_TIMERS_OF_MANY = ("SyncTimer", "ConstantThroughputTimer", "PreciseThroughputTimer", "VariableThroughputTimer")
_LOOPS, _FOREVER = "LoopController.loops", "-1"
_ON_ERROR = "ThreadGroup.on_sample_error"


def one_pass(jmx: Path) -> bytes:
    """Return the plan with a Thread Group of one user and one iteration in place of each thread group of the load.

    setUp and tearDown thread groups stay as they are. Endless loops run once. Timers that need many users are disabled.
    """
    tree = parse(jmx)
    for element in list(tree.getroot().iter()):
        if element.tag.endswith("ThreadGroup") and element.tag not in SIDE_GROUPS:
            _make_single(element)
        elif element.tag.rpartition(".")[2] in _TIMERS_OF_MANY:
            element.set("enabled", "false")
        elif element.tag == "LoopController":
            _end_loop(element)
    written: bytes = ElementTree.tostring(tree.getroot(), encoding="UTF-8", xml_declaration=True)
    return written + b"\n"


def _make_single(group: ElementTree.Element) -> None:
    """Make a thread group of any kind a Thread Group of one user; its name, state and action after errors stay."""
    kept = {name: group.get(name, "") for name in ("testname", "enabled") if name in group.attrib}
    action = group.findtext(f"stringProp[@name='{_ON_ERROR}']") or "continue"
    group.clear()
    group.tag = "ThreadGroup"
    group.attrib.update(guiclass="ThreadGroupGui", testclass="ThreadGroup", **kept)
    _text(group, _ON_ERROR, action)
    for name in ("num_threads", "ramp_time"):
        _text(group, f"ThreadGroup.{name}", "1")
    loop = ElementTree.SubElement(
        group,
        "elementProp",
        name="ThreadGroup.main_controller",
        elementType="LoopController",
        guiclass="LoopControlPanel",
        testclass="LoopController",
    )
    ElementTree.SubElement(loop, "boolProp", name="LoopController.continue_forever").text = "false"
    _text(loop, _LOOPS, "1")


def _end_loop(controller: ElementTree.Element) -> None:
    for prop in controller:
        if prop.get("name") == _LOOPS and (prop.text or "").strip() == _FOREVER:
            prop.text = "1"


def _text(parent: ElementTree.Element, name: str, value: str) -> None:
    ElementTree.SubElement(parent, "stringProp", name=name).text = value
