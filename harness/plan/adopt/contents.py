"""Lists what a JMX contains: thread groups, samplers, hosts, scripts, plugins, redirects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from harness.plan.adopt.groups import GroupSize, load_names, needs_tables, preparing, size_of
from harness.plan.adopt.hosts import host_of
from harness.plan.adopt.variables import Variables
from harness.plan.checks.reach import functions_with_code, has_code_as_condition
from harness.plan.jmx.addresses import address_of
from harness.plan.jmx.csv_data import KIND as CSV
from harness.plan.jmx.elements import Effect, class_named_in, class_of, effect_of
from harness.plan.jmx.tree import SAMPLER, SIDE_GROUPS, Node, has_http, load_groups

_CODE = re.compile(r"(?i)(^|\.)(script|query|.*Code)$")
_OF_JAVA = ("java.", "javax.", "sun.")
_OWN = ("org.apache.jmeter.", "org.apache.jorphan.")


@dataclass(frozen=True)
class Script:
    """A script or a program of a JMX; `lines` is 0 when it is an expression in a text."""

    path: str
    line: int | None
    kind: str
    lines: int


@dataclass(frozen=True)
class Contents:
    """What a JMX contains; `sizes` are the groups of the load, `side_groups` those that prepare or clean up.

    `samplers` and `plugins` (classes that are not JMeter's own) have the number of elements of each class.
    """

    title: str
    sizes: tuple[GroupSize, ...]
    side_groups: tuple[str, ...]
    samplers: tuple[tuple[str, int], ...]
    hosts: tuple[str, ...]
    csv_files: tuple[tuple[str, str], ...]
    scripts: tuple[Script, ...]
    plugins: tuple[tuple[str, int], ...]
    has_other_protocols: bool


def contents_of(mapping: Variables) -> Contents:
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
    everything = mapping.draft.plan.walk_all()  # JMeter reads disabled elements, too
    plugins = Counter(name for node in everything for name in (_plugin(node), _library(node)) if name)
    samplers = Counter(node.kind for node in nodes if SAMPLER.search(node.kind))
    hosts = [host_of(mapping, raw) for node in nodes if has_http(node) and (raw := node.value("HTTPSampler.domain"))]
    hosts += [host_of(mapping, one.host) for node in nodes if (one := address_of(node, mapping.known))]
    return Contents(
        title=nodes[0].name,
        sizes=tuple(sizes),
        side_groups=tuple(node.name for node in side),
        samplers=tuple(samplers.most_common()),
        hosts=tuple(dict.fromkeys(hosts)),
        csv_files=tuple((node.value("filename"), node.value("variableNames")) for node in nodes if node.kind == CSV),
        scripts=tuple(dict.fromkeys(_scripts(mapping))),
        plugins=tuple(plugins.most_common()),
        has_other_protocols=any(effect_of(node) in (Effect.CONNECTS, Effect.UNKNOWN) for node in nodes),
    )


def _scripts(mapping: Variables) -> Iterator[Script]:
    for node in mapping.nodes:
        if effect_of(node) is Effect.SCRIPTS:
            code = next((prop.text for prop in node.element if _CODE.search(prop.get("name", "")) and prop.text), "")
            yield Script(node.path, node.line, node.kind, len(code.strip().splitlines()))
            continue
        yield from (Script(node.path, node.line, name, 0) for name in functions_with_code(node, mapping.values))
        if has_code_as_condition(node, mapping.values):
            yield Script(node.path, node.line, "JavaScript condition", 1)


def known_plugins(contents: Contents) -> list[str]:
    """Return the Maven coordinates of the plugins that the harness's JMeter does not have, as far as known."""
    classes = (class_of(name) for name, _ in contents.plugins)
    return list(dict.fromkeys(plugin for one in classes if one for plugin in one.coordinates))


def _library(node: Node) -> str:
    """Return the class of no jar of JMeter that an element names, such as a driver; empty without one."""
    name = class_named_in(node)
    return "" if name.startswith((*_OWN, *_OF_JAVA)) else name


def _plugin(node: Node) -> str:
    known = class_of(node.kind)
    if known and known.plugin:
        return known.name
    name = node.kind if "." in node.kind else node.element.get("testclass", "")
    return "" if (known and name.startswith(_OWN)) or "." not in name else name
