"""Applies all fixes to a JMX, so that a run sets its target and its load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from harness.base.secrecy import is_secret_name
from harness.plan.adopt.data import DataFile, fix_data
from harness.plan.adopt.draft import Draft
from harness.plan.adopt.fix import Fix
from harness.plan.adopt.found import Found, find, known_plugins
from harness.plan.adopt.groups import fix_groups, fix_modules
from harness.plan.adopt.host_bound import fix_host_bound
from harness.plan.adopt.hosts import TargetFix
from harness.plan.adopt.requests import (
    different_defaults,
    fix_assertions,
    fix_codes,
    fix_embedded_resources,
    fix_extractors,
    fix_labels,
    fix_listeners,
    fix_paths,
    fix_properties,
)
from harness.plan.adopt.secret_values import FixedSecrets, fix_secrets
from harness.plan.adopt.variables import Variables
from harness.plan.finding import Finding, Rule
from harness.plan.jmx import Node, enabled_nodes, reads_of
from harness.plan.jmx_values import Values
from harness.plan.modules import lost_modules
from harness.plan.runnable import not_runnable

_BY_THE_RUN = ("scheme", "host", "port", "base_path", "users", "ramp_s", "duration_s", "loops", "run_id")


@dataclass(frozen=True)
class Adoption:
    """A JMX with its fixes: what it contains, the changed draft, its data files, and what no fix can map.

    `other_hosts` are the properties of the fixed JMX that name the hosts besides the main one, by host. `secrets` are
    the values that the JMX contained, by the environment variables that the fixed JMX reads.
    """

    found: Found
    draft: Draft
    data: tuple[DataFile, ...]
    left: tuple[Finding, ...]
    other_hosts: Mapping[str, str]
    secrets: Mapping[str, str] = field(repr=False)


def adopt(jmx: Path, plan_name: str, plans: Path, *, moves_secrets: bool = True) -> Adoption:
    """Return a JMX with all fixes, for <plan_name> in the folder `plans`. UsageError when it is not a test plan.

    Nothing is written. Data files are looked for beside the JMX and in plans/data/<plan_name>. Without `moves_secrets`
    its passwords, tokens and keys stay in it.
    """
    draft = Draft.read(jmx)
    mapping = _mapping(draft, jmx.parent)
    found = find(mapping)
    defaults, owners = _defaults(draft), _all_nodes(mapping.nodes[0])
    data = fix_data(mapping, (jmx.parent, plans / "data" / plan_name), plan_name)
    target = TargetFix(mapping, defaults)
    left = [*data.left, *target.apply(), *fix_host_bound(mapping, target)]
    fix_modules(mapping)
    left += fix_groups(mapping, defaults)
    secrets = fix_secrets(mapping, owners, plan_name) if moves_secrets else FixedSecrets({}, [])
    left += secrets.left
    fix_embedded_resources(mapping)
    fix_paths(mapping)
    fix_assertions(mapping)
    fix_listeners(mapping)
    fix_codes(mapping)
    fix_extractors(mapping)
    fix_labels(mapping)
    _add_run_id(mapping, defaults)
    fix_properties(mapping, _all_nodes(draft.plan), defaults)  # with the added elements
    left += _left(mapping, defaults, known_plugins(found))
    return Adoption(found, draft, tuple(data.files), tuple(left), target.others, secrets.values)


def _mapping(draft: Draft, folder: Path) -> Variables:
    nodes = enabled_nodes(draft.plan)
    return Variables(draft, nodes, Values.of(nodes, {}, folder))


def _defaults(draft: Draft) -> dict[str, str]:
    """Return the defaults that the plan already has for the properties of a run."""
    found: dict[str, str] = {"base_path": "", "run_id": "adhoc"}
    for read in reads_of(draft.root):
        if read.name in _BY_THE_RUN and read.default is not None:
            found[read.name] = read.default
    return found


def _all_nodes(node: Node) -> list[Node]:
    return [node, *(below for child in node.children for below in _all_nodes(child))]


def _add_run_id(mapping: Variables, defaults: dict[str, str]) -> None:
    """Define the variable run_id in the Test Plan: a request may send it, to be found in the system's logs."""
    plan = mapping.nodes[0]
    if any(read.name == "run_id" for read in reads_of(mapping.draft.root)):
        return
    table = plan.element.find("elementProp/collectionProp[@name='Arguments.arguments']")
    argument = ElementTree.Element("elementProp", name="run_id", elementType="Argument")
    for name, text in (("name", "run_id"), ("value", f"${{__P(run_id,{defaults['run_id']})}}"), ("metadata", "=")):
        ElementTree.SubElement(argument, "stringProp", name=f"Argument.{name}").text = text
    if table is None:
        variables = ElementTree.Element(
            "elementProp", name="TestPlan.user_defined_variables", elementType="Arguments", testclass="Arguments"
        )
        ElementTree.SubElement(variables, "collectionProp", name="Arguments.arguments").append(argument)
        mapping.draft.add(plan.element, variables, Fix.LOAD)
    else:
        mapping.draft.add(table, argument, Fix.LOAD)


def _left(mapping: Variables, defaults: dict[str, str], plugins: Sequence[str]) -> list[Finding]:
    """Return what no fix concerns: plans that are included, what cannot run, and unclear defaults."""
    left = []
    for node in mapping.nodes:
        if node.kind == "IncludeController":
            what = f"includes the plan {node.value('IncludeController.includepath')}"
            left.append(Finding.at(node, Rule.OTHER_PLAN, what, "put the elements of that plan into this one"))
    left += lost_modules(mapping.draft.plan)
    left += not_runnable(mapping.draft.plan, plugins)
    for name, texts in different_defaults(mapping.draft.root, defaults).items():
        shown = "different defaults" if is_secret_name(name) else f"the defaults {', '.join(texts)}"
        what = f"reads the property {name} with {shown}"
        left.append(Finding.at(mapping.nodes[0], Rule.TWO_DEFAULTS, what, "give it one default"))
    return left
