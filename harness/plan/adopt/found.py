"""Lists what a JMX contains: thread groups, samplers, hosts, scripts, plugins, redirects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from harness.plan.adopt.groups import GroupSize, load_groups, load_names, needs_tables, preparing, size_of
from harness.plan.adopt.hosts import has_http, host_of
from harness.plan.adopt.variables import Variables
from harness.plan.csv_data import KIND as CSV
from harness.plan.elements import Effect, class_of, effect_of
from harness.plan.jmx import SIDE_GROUPS, Node
from harness.plan.jmx_values import functions_in
from harness.plan.lint import SAMPLER
from harness.plan.reach import SCRIPT_FUNCTIONS, needs_other_protocols
from harness.plan.script_text import is_simple

_CODE = re.compile(r"(?i)(^|\.)(script|query|.*Code)$")
_OWN = ("org.apache.jmeter.", "org.apache.jorphan.")


@dataclass(frozen=True)
class Script:
    """A script or a program of a JMX; `lines` is 0 when it is an expression in a text."""

    path: str
    line: int | None
    kind: str
    lines: int


@dataclass(frozen=True)
class Plugin:
    """A class that is not JMeter's own, and how many elements need it."""

    name: str
    count: int


@dataclass(frozen=True)
class Found:
    """What a JMX contains; `sizes` are the groups of the load, `side_groups` those that prepare or clean up."""

    title: str
    sizes: tuple[GroupSize, ...]
    side_groups: tuple[str, ...]
    samplers: tuple[tuple[str, int], ...]
    hosts: tuple[str, ...]
    csv_files: tuple[tuple[str, str], ...]
    scripts: tuple[Script, ...]
    plugins: tuple[Plugin, ...]
    has_other_protocols: bool


def find(mapping: Variables) -> Found:
    """Return what a JMX contains."""
    nodes = mapping.nodes
    groups = load_groups(nodes)
    prepared = preparing(mapping, groups)
    side = [node for node in nodes if node.kind in SIDE_GROUPS or node in prepared]
    main = [group for group in groups if group not in prepared]
    sizes = [size_of(mapping, group) for group in main]
    if needs_tables(sizes):
        names = load_names(mapping, main)
        sizes = [replace(size, name=name) for size, name in zip(sizes, names, strict=True)]
    samplers = Counter(node.kind for node in nodes if SAMPLER.search(node.kind))
    hosts = (host_of(mapping, raw) for node in nodes if has_http(node) and (raw := node.value("HTTPSampler.domain")))
    return Found(
        title=nodes[0].name,
        sizes=tuple(sizes),
        side_groups=tuple(node.name for node in side),
        samplers=tuple(samplers.most_common()),
        hosts=tuple(dict.fromkeys(hosts)),
        csv_files=tuple((node.value("filename"), node.value("variableNames")) for node in nodes if node.kind == CSV),
        scripts=tuple(dict.fromkeys(_scripts(mapping))),
        plugins=tuple(_plugins(mapping)),
        has_other_protocols=any(needs_other_protocols(node) for node in nodes),
    )


def _scripts(mapping: Variables) -> Iterator[Script]:
    for node in mapping.nodes:
        if effect_of(node) is Effect.SCRIPTS:
            code = next((prop.text for prop in node.element if _CODE.search(prop.get("name", "")) and prop.text), "")
            yield Script(node.path, node.line, node.kind, len(code.strip().splitlines()))
            continue
        for call in functions_in(node):
            if call.name in SCRIPT_FUNCTIONS and not is_simple(call.parameters[0], mapping.values.variables):
                yield Script(node.path, node.line, call.name, 0)
        is_javascript = node.kind == "IfController" and node.value("IfController.useExpression") != "true"
        if is_javascript and not is_simple(node.value("IfController.condition"), mapping.values.variables):
            yield Script(node.path, node.line, "JavaScript condition", 1)


def known_plugins(found: Found) -> list[str]:
    """Return the Maven coordinates of the plugins that the harness's JMeter does not have, as far as known."""
    classes = (class_of(plugin.name) for plugin in found.plugins)
    return list(dict.fromkeys(plugin for one in classes if one for plugin in one.coordinates))


def _plugins(mapping: Variables) -> Iterator[Plugin]:
    everything = mapping.draft.plan.walk_all()  # JMeter reads disabled elements, too
    names = Counter(name for node in everything if (name := _plugin(node)))
    yield from (Plugin(name, count) for name, count in names.most_common())


def _plugin(node: Node) -> str:
    found = class_of(node.kind)
    if found and found.plugin:
        return found.name
    name = node.kind if "." in node.kind else node.element.get("testclass", "")
    return "" if (found and name.startswith(_OWN)) or "." not in name else name
