"""Finds what keeps a plan from running: lost modules, classes that JMeter lacks, placeholders, nothing to run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from harness.plan.checks.finding import Finding, Rule
from harness.plan.jmx.elements import Effect, class_of, effect_of
from harness.plan.jmx.modules import found_by, path_of
from harness.plan.jmx.tree import SAMPLER, VARIABLE_TABLES, Node, enabled_nodes, reads_in

# What templates leave for a value: @@host@@, {{host}}, [=host], <host>, %HOST%.
_PLACEHOLDER = re.compile(r"@@[\w.-]+@@|\{\{\s*[\w.-]+\s*\}\}|\[=\s*[\w.-]+\s*\]|<[A-Za-z][\w -]*>|%[A-Z_]{2,}%")
_BRACKETS = re.compile(r"\[[A-Za-z][\w -]*\]")
_FIELDS = tuple(f"HTTPSampler.{name}" for name in ("domain", "port", "protocol", "path"))
_UNDER = "under [jmeter] in the plan's TOML"
_JAR = 'plugins = ["lib/NAME.jar"]'


def not_runnable(plan: Node, plugins: Sequence[str]) -> Iterator[Finding]:
    """Yield what must change before the plan can run; `plugins` are the Maven coordinates in its TOML."""
    yield from _lost_modules(plan)
    yield from _absent_classes(plan, plugins)
    nodes = enabled_nodes(plan)
    for node in nodes:
        yield from _placeholders(node)
    may_sample = (Effect.UNKNOWN, Effect.INCLUDE)
    if not any(SAMPLER.search(node.kind) or effect_of(node) in may_sample for node in nodes):
        todo = "enable or add one, such as an HTTP Request"
        yield Finding(Rule.NO_SAMPLER, "", "the plan has no enabled sampler", todo, plan.path, plan.line)


def plugin_todo(name: str) -> str:
    """Return what to do when JMeter lacks a class: the line of the plan's TOML with the plugin that has it."""
    known = class_of(name)
    if known is None or not known.plugin:
        return f"name its plugin, or put its jar beside the plan: {_JAR} {_UNDER}"
    if known.is_in_maven:
        return f"add plugins = {json.dumps(known.coordinates)} {_UNDER}"
    found_at = f"it is released as a file, {known.plugin} of JMeter's Plugins Manager"
    return f"{found_at}: put its jar beside the plan, {_JAR} {_UNDER}"


def _absent_classes(plan: Node, plugins: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding for each class that the harness's JMeter lacks, also for one of a disabled element."""
    listed = {_unversioned(plugin) for plugin in plugins}
    has_files = any(plugin.count(":") != 2 for plugin in plugins)  # what is in them the check of the classes knows
    nodes: dict[str, Node] = {}
    for node in plan.walk_all():
        nodes.setdefault(node.kind, node)
    for kind, node in nodes.items():
        known = class_of(kind)
        if known is None and not ("." in kind and plugins):  # a plugin of the plan may have it
            what, todo = f"needs the class {kind}, which JMeter 5.6.3 does not have", plugin_todo(kind)
            todo = todo if "." in kind else "delete the element: earlier versions of JMeter had it"
            yield Finding.at(node, Rule.ABSENT_CLASS, what, todo)
        elif known and known.plugin and not has_files and _unversioned(known.plugin) not in listed:
            what = f"needs the plugin {known.plugin} (its class {known.name})"
            yield Finding.at(node, Rule.ABSENT_CLASS, what, plugin_todo(known.name))


def _unversioned(plugin: str) -> str:
    return plugin.rpartition(":")[0] or plugin


def _placeholders(node: Node) -> Iterator[Finding]:
    texts = {name: text for name in _FIELDS if (text := node.value(name).strip())}
    if node.kind in VARIABLE_TABLES:
        values = (prop for prop in node.element.iter() if prop.get("name") == "Argument.value")
        texts |= {f"Argument.value {number}": (prop.text or "").strip() for number, prop in enumerate(values)}
    for name, text in texts.items():
        is_field = name in _FIELDS
        match = _PLACEHOLDER.search(text) if is_field else _PLACEHOLDER.fullmatch(text)
        defaults = (read.default or "" for read in reads_in(text))
        found = match[0] if match else next((one for one in defaults if _BRACKETS.fullmatch(one.strip())), "")
        if found:
            what, todo = f"contains the placeholder {found}", "write the value, or set the property that replaces it"
            yield Finding.at(node, Rule.PLACEHOLDER, what, todo, name if is_field else "")


def _lost_modules(plan: Node) -> Iterator[Finding]:
    """Yield a finding for each Module Controller whose path leads to no element, also for a disabled one.

    JMeter 5.6.3 looks up all of them before a test.
    """
    for node in plan.walk_all():
        path = path_of(node.element) if node.kind == "ModuleController" else []
        if node.kind == "ModuleController" and not (found_by(plan, path) and path[1].text == plan.name):
            names = " > ".join(name.text or "" for name in path[1:])
            what = f"runs the element {names or 'without a path'}, which does not exist"
            todo = "open the plan in JMeter and select the element again, or delete the controller"
            yield Finding.at(node, Rule.LOST_MODULE, what, todo, "ModuleController.node_path")
