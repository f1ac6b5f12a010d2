"""Finds the element that a Module Controller runs: the controller has its path from the Test Plan, by names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree  # types only

from harness.plan.finding import Finding, Rule
from harness.plan.jmx import Node

# A path begins with the root of JMeter's tree and the Test Plan.
_ROOTS = 2


def path_of(controller: ElementTree.Element) -> list[ElementTree.Element]:
    """Return the properties with the names in a Module Controller's path; empty without a path."""
    return controller.findall("collectionProp[@name='ModuleController.node_path']/*")


def leads_below(plan: Node, path: Sequence[ElementTree.Element]) -> bool:
    """Return whether a path leads to an element, as in JMeter no Module Controller, whatever it calls the Test Plan."""
    nodes = [plan]
    for name in path[_ROOTS:]:
        below = (child for node in nodes for child in node.children if child.name == (name.text or ""))
        nodes = [child for child in below if child.kind != "ModuleController"]
    return len(path) > _ROOTS and bool(nodes)


def lost_modules(plan: Node) -> Iterator[Finding]:
    """Yield a finding for each Module Controller whose path leads to no element, also for a disabled one.

    JMeter 5.6.3 looks up all of them before a test.
    """
    for node in plan.walk_all():
        path = path_of(node.element) if node.kind == "ModuleController" else []
        if node.kind == "ModuleController" and not (leads_below(plan, path) and path[1].text == plan.name):
            names = " > ".join(name.text or "" for name in path[1:])
            what = f"runs the element {names or 'without a path'}, which does not exist"
            todo = "open the plan in JMeter and select the element again, or delete the controller"
            yield Finding.at(node, Rule.LOST_MODULE, what, todo, "ModuleController.node_path")
