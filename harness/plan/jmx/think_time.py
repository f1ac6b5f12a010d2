"""Writes the think time of a load into its thread group, and finds what pauses the users of one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree  # builds and writes XML; jmx.parse reads files

from harness.base import units
from harness.base.errors import UsageError
from harness.plan.jmx.tree import Node, user_defined
from harness.plan.jmx_writer import add_string, insert_first, new_element, of_jmx, set_text
from harness.plan.load.groups import GroupLoad

# The property with the think time.
NAME = "think_time_ms"
_READ = re.compile(r"\$\{__(?:P|property)\(\s*think_time_ms\s*(?:,[^(){}]*)?\)\}")
_FIXED = ("ConstantTimer", "UniformRandomTimer", "GaussianRandomTimer", "PoissonRandomTimer")
_TIMERS = (*_FIXED, "JSR223Timer", "BeanShellTimer", "BSFTimer")
_PAUSE = "1"


def is_pause(node: Node) -> bool:
    """Return whether an element pauses users: any timer, or a Flow Control Action that does."""
    return node.kind.endswith("Timer") or (node.kind == "TestAction" and node.value("ActionProcessor.action") == _PAUSE)


def is_fixed_pause(node: Node) -> bool:
    """Return whether an element pauses users for times that it states: neither a throughput timer nor a script."""
    return is_pause(node) and (node.kind in _FIXED or node.kind == "TestAction")


def think_variables(root: ElementTree.Element) -> tuple[str, ...]:
    """Return the User Defined Variables that are the property."""
    return tuple(name for name, value in user_defined(root) if _READ.fullmatch(value.strip()))


def reads_think_time(children: ElementTree.Element, variables: Sequence[str]) -> bool:
    """Return whether elements of a group read the property, or one of the `variables` that are it."""
    return any(_written(element.text or "", variables, "") != (element.text or "") for element in children.iter())


def set_think_time(
    children: ElementTree.Element, load: GroupLoad, variables: Sequence[str], in_scope: Iterable[Node]
) -> None:
    """Write the think time where elements of a group read it, else as a Constant Timer, which pauses per request.

    UsageError for a pause per transaction that nothing reads: only the plan knows where its users pause; and for one
    where a timer of the plan, among the elements `in_scope`, pauses the users already.
    """
    milliseconds, has_found = str(round(load.think_time_s * units.MS_PER_S)), False
    for element in children.iter():
        text = _written(element.text or "", variables, milliseconds)
        if text != (element.text or ""):
            set_text(element, of_jmx(text))
            has_found = True
    if has_found or not load.think_time_s:
        return
    if load.think_time_per:
        what = f"the load {load.group} has a think time per {load.think_time_per}, which its thread group does not read"
        raise UsageError(what, "read ${__P(think_time_ms,0)} where its users pause, such as in a Flow Control Action")
    if own := next((node for node in in_scope if node.kind in _TIMERS), None):
        what = f"the load {load.group} has a think time, and its timer {own.name} pauses its users, too"
        raise UsageError(what, f"read ${{__P({NAME},0)}} in that timer, or leave think_time_s out")
    insert_first(children, think_timer(milliseconds))


def _written(text: str, variables: Sequence[str], milliseconds: str) -> str:
    written = _READ.sub(milliseconds, text)
    for name in variables:
        written = written.replace(f"${{{name}}}", milliseconds)
    return written


def think_timer(delay: str) -> ElementTree.Element:
    """Return a Constant Timer with a delay in ms."""
    timer = new_element("ConstantTimer", "ConstantTimerGui", "Think time")
    add_string(timer, "ConstantTimer.delay", delay)
    return timer
