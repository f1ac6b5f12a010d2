"""Puts what Module Controllers run into their places in a plan, as JMeter does before a test."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from xml.etree import ElementTree  # types only

from harness.plan.jmx.tree import Node, is_own_enabled

_MODULE = "ModuleController"
# The root of JMeter's tree and the Test Plan, which it finds whatever their names in the path are.
_ROOTS = 2


def path_of(controller: ElementTree.Element) -> list[ElementTree.Element]:
    """Return the properties with the names in a Module Controller's path; empty without a path."""
    return controller.findall("collectionProp[@name='ModuleController.node_path']/*")


def found_by(plan: Node, path: Sequence[ElementTree.Element]) -> list[Node]:
    """Return the elements that a path leads to, whatever it calls the Test Plan; it leads through no other module."""
    nodes = [plan] if len(path) > _ROOTS else []
    for name in path[_ROOTS:]:
        below = (child for node in nodes for child in node.children if child.name == (name.text or ""))
        nodes = [child for child in below if child.kind != _MODULE]
    return nodes


def with_modules(node: Node, plan: Node) -> Node:
    """Return a copy of an element in which each Module Controller contains what it runs, if that is unambiguous."""
    return _copied(node, node.parent, plan, ())


def _copied(node: Node, parent: Node | None, plan: Node, within: Collection[ElementTree.Element]) -> Node:
    copied = replace(node, parent=parent, children=[])
    children = node.children
    if node.kind == _MODULE:
        found = [one for one in found_by(plan, path_of(node.element)) if is_own_enabled(one.element)]
        children = found if len(found) == 1 and found[0].element not in within else []
        within = (*within, *(one.element for one in children))
    copied.children.extend(_copied(child, copied, plan, within) for child in children)
    return copied
