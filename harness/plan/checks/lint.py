"""Finds the mistakes that make a JMeter test plan unfit for measuring, before the first sample."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from harness.plan.checks.finding import Finding, Rule
from harness.plan.checks.runnable import not_runnable
from harness.plan.jmx.data_files import data_files_of, folders_of
from harness.plan.jmx.think_time import NAME, is_pause
from harness.plan.jmx.trace import HTTP_SAMPLER
from harness.plan.jmx.tree import (
    CODE,
    LOAD_GROUP,
    SAMPLER,
    SIDE_GROUPS,
    VARIABLE,
    VARIABLE_TABLES,
    Node,
    load_groups,
    plan_tree,
    reads_in,
    secrets_of_comments,
    secrets_of_element,
    texts_of,
    user_defined,
)

# Properties that a run sets. A plan that does not read one of these would ignore TARGET, USERS, … silently.
LOAD_KNOBS = ("users", "ramp_s", "duration_s", "loops", "think_time_ms")
_TARGET_KNOBS = ("host", "port", "scheme", "base_path")
KNOBS = (*_TARGET_KNOBS, *LOAD_KNOBS, "run_id")
_LISTENERS = ("ResultCollector", "ResultSaver", "Summariser", "BackendListener", "MailerResultCollector")

# A script that decides whether a sample is a success.
SCRIPT_CHECK = re.compile(r"\bset(Successful|Failure)\b|\bFailure\s*=|\.successful\s*=")
# The load's numbers in a thread group, and the properties of a run that they must read.
LOAD_NUMBERS = {
    "ThreadGroup.num_threads": "users",
    "ThreadGroup.ramp_time": "ramp_s",
    "ThreadGroup.duration": "duration_s",
    "LoopController.loops": "loops",
    "TargetLevel": "users",
    "RampUp": "ramp_s",
    "Hold": "duration_s",
}
ASSERTION_SCOPE = "Assertion.scope"
# The characters of a path that no URL can have. JMeter encodes blanks only, and then sends nothing.
_NEVER = frozenset('"<>\\^`|')


class GroupLabel(NamedTuple):
    """A label in a thread group; `group` is empty for a sampler outside of thread groups."""

    group: str
    label: str

    @classmethod
    def of(cls, sampler: Node) -> GroupLabel:
        """Return the label of a sampler."""
        group = sampler.thread_group
        return cls(group.name if group else "", sampler.name)


def lint(jmx: Path, *, has_loads: bool = False, plugins: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Return what makes the plan unfit for measuring, in the order of the checks; empty for a good plan.

    With `has_loads` the run writes its loads into the thread groups: these need to read no properties.
    `plugins` are the Maven coordinates of the plan's plugins.
    """
    plan = plan_tree(jmx)
    nodes = list(plan.walk())
    variables = user_variables(plan)
    findings: list[Finding] = []
    for check in (_listener, _code, _sub_results, _path, _assertion):
        for node in nodes:
            findings += check(node)
    findings += _hosts(nodes, variables)
    findings += _labels(nodes, variables)
    if not has_loads:
        findings += _load_groups(plan, nodes)
        findings += _load_numbers(nodes, variables)
    has_http = any(HTTP_SAMPLER.fullmatch(node.kind) for node in nodes)
    needless = (*(LOAD_KNOBS if has_loads else ()), *(() if has_http else _TARGET_KNOBS))
    if any(map(is_pause, nodes)):  # a think time that such a plan ignores is refused when there is one
        needless = (*needless, NAME)
    findings += _reads(plan, [knob for knob in KNOBS if knob not in needless])
    findings += _secrets(plan, jmx)
    findings += _missing_data(nodes, jmx)
    findings += not_runnable(plan, plugins)
    return tuple(findings)


def _listener(node: Node) -> Iterator[Finding]:
    if is_listener(node):
        group = node.thread_group
        if node.kind != "ResultSaver" or group is None or group.kind not in SIDE_GROUPS:
            what = f"a listener ({node.kind}) costs time and memory during the run"
            instead = "--metrics=1 or --otlp=URL sends numbers while a run lasts"
            more = f", and {instead}" if node.kind == "BackendListener" else ""
            yield Finding.at(node, Rule.LISTENER, what, f"disable it: the harness stores every sample{more}")


def is_listener(node: Node) -> bool:
    """Return whether an element is a listener that takes time and memory of the load generator."""
    return node.kind in _LISTENERS or ".vizualizers." in node.kind


def _code(node: Node) -> Iterator[Finding]:
    if HTTP_SAMPLER.fullmatch(node.kind) and not asserts_code(node):
        what = "no assertion on the response code, so wrong responses count as successes"
        todo = "add a Response Assertion on the Response Code with the code that it must have, such as 200"
        yield Finding.at(node, Rule.NO_CODE_ASSERTION, what, todo)


def asserts_code(sampler: Node) -> bool:
    """Return whether an assertion on the code is a child of the sampler, or a sibling of it or of an ancestor.

    So is one with *Ignore Status*, and a script that decides whether the sample is a success.
    """
    return any(map(_decides_success, sampler.in_scope()))


def _decides_success(node: Node) -> bool:
    if node.kind == "ResponseAssertion":
        is_on_code = node.value("Assertion.test_field") == "Assertion.response_code"
        return is_on_code or node.value("Assertion.assume_success") == "true"
    is_script = CODE.search(node.kind) and not SAMPLER.search(node.kind)
    return bool(is_script) and any(SCRIPT_CHECK.search(text) for text in node.element.itertext())


def _labels(nodes: list[Node], variables: dict[str, str]) -> Iterator[Finding]:
    """Yield the labels that occur twice in one thread group; setUp and tearDown may share theirs.

    A label from data, such as `${page}` from a CSV Data Set, differs in each iteration: it may occur twice.
    """
    same: dict[GroupLabel, list[Node]] = {}
    for node in nodes:
        if SAMPLER.search(node.kind) and all(name in variables for name in VARIABLE.findall(node.name)):
            same.setdefault(GroupLabel.of(node), []).append(node)
    for label, samplers in same.items():
        if len(samplers) > 1:
            what = f"{len(samplers)} samplers of {label.group} share this label, so their metrics are mixed"
            yield Finding.at(samplers[1], Rule.SAME_LABEL, what, "give each sampler a name of its own")


def _hosts(nodes: list[Node], variables: dict[str, str]) -> Iterator[Finding]:
    # A domain without ${…}, or a path with a scheme and a host.
    fixed = {"HTTPSampler.domain": r"(?!.*\$\{).", "HTTPSampler.path": r"https?://(?:[^/@]*@)?(\[[^]]*]|[^$/:?#]+)"}
    for node in nodes:
        for attribute, pattern in fixed.items():
            text = node.value(attribute)
            if re.match(pattern, _resolved(text, variables), re.DOTALL):
                what = f"the host is fixed ({text}), so --target would be ignored"
                todo = "write ${__P(host,127.0.0.1)} for the host, and likewise port and scheme"
                yield Finding.at(node, Rule.FIXED_HOST, what, todo, attribute)


def _sub_results(node: Node) -> Iterator[Finding]:
    """Yield a finding for a sampler whose times include those of embedded files."""
    attribute = "HTTPSampler.image_parser"
    if node.value(attribute) == "true":
        what = "retrieves embedded resources, which its times include"
        todo = "switch that off, and give the files that matter a sampler"
        yield Finding.at(node, Rule.EMBEDDED_RESOURCES, what, todo, attribute)


def _path(node: Node) -> Iterator[Finding]:
    path = node.value("HTTPSampler.path")
    if encoded(path) != path:
        what, todo = f"its path {path} has characters that no URL can have", f"write {encoded(path)}"
        yield Finding.at(node, Rule.BAD_PATH, what, todo)


def encoded(raw: str) -> str:
    """Return the path of a request in which such characters outside of ${…} are percent-encoded."""
    return "".join(
        part.text if part.is_reference else "".join(quote(sign) if sign in _NEVER else sign for sign in part.text)
        for part in text_parts(raw)
    )


class TextPart(NamedTuple):
    """A part of a text: a reference ${…} to a variable or a function, or what is between references."""

    text: str
    is_reference: bool


def text_parts(raw: str) -> Iterator[TextPart]:
    """Yield the parts of a text in their order."""
    position = 0
    while (start := raw.find("${", position)) >= 0:
        yield TextPart(raw[position:start], is_reference=False)
        end, depth = start + 1, 0
        while end < len(raw):
            depth += (raw[end] == "{") - (raw[end] == "}")
            end += 1
            if depth == 0:
                break
        yield TextPart(raw[start:end], is_reference=True)
        position = end
    yield TextPart(raw[position:], is_reference=False)


def _assertion(node: Node) -> Iterator[Finding]:
    if checks_no_variable(node):
        what, todo = "checks a variable without a name", "name the variable, or apply it to the main sample"
        yield Finding.at(node, Rule.NO_VARIABLE, what, todo, ASSERTION_SCOPE)


def checks_no_variable(node: Node) -> bool:
    """Return whether an assertion checks a variable but names none."""
    return node.value(ASSERTION_SCOPE) == "variable" and not node.value("Scope.variable").strip()


def _load_groups(plan: Node, nodes: list[Node]) -> Iterator[Finding]:
    groups = load_groups(nodes)
    if [group.name for group in groups] != [LOAD_GROUP]:
        names = ", ".join(group.name for group in groups) or "none"
        what = f"the load needs one thread group named {LOAD_GROUP}; the plan has {names}"
        todo = f"name the thread group of the load {LOAD_GROUP}, and disable the others"
        yield Finding(Rule.LOAD_GROUPS, "", what, todo, plan.path, groups[0].line if groups else plan.line)


def _load_numbers(nodes: list[Node], variables: dict[str, str]) -> Iterator[Finding]:
    for group in load_groups(nodes):
        for name, wanted in LOAD_NUMBERS.items():
            value = group.value(name)
            if value and not any(reads_in(_resolved(value, variables))):
                todo = f"write ${{__P({wanted},{value})}} instead"
                yield Finding.at(group, Rule.FIXED_LOAD, f"{name} is {value}, not a property", todo, name)


def user_variables(plan: Node) -> dict[str, str]:
    """Return the plan's User Defined Variables, unresolved."""
    tables = [node.element for node in (plan, *plan.walk()) if node.kind in VARIABLE_TABLES]
    return dict(variable for table in tables for variable in user_defined(table))


def _resolved(text: str, variables: dict[str, str]) -> str:
    return VARIABLE.sub(lambda match: variables.get(match[1], match[0]), text)


def _missing_data(nodes: list[Node], jmx: Path) -> Iterator[Finding]:
    for node in nodes:
        for name in data_files_of(node):
            if not (jmx.parent / name).is_file():
                reader = "a CSV Data Set" if node.kind == "CSVDataSet" else "the element"
                what = f"{reader} reads {name}, but it does not exist"
                yield Finding.at(node, Rule.MISSING_FILE, what, "store it there, or correct its name", "filename")
        for name in folders_of(node):
            if not (jmx.parent / name).is_dir():
                what, todo = f"the element reads the folder {name}, but it does not exist", "copy it beside the plan"
                yield Finding.at(node, Rule.MISSING_FILE, what, todo)


def _secrets(plan: Node, jmx: Path) -> Iterator[Finding]:
    what = "the plan contains a password, token or key"
    todo = "pass it as an environment variable: lth help secrets"
    for node in (plan, *plan.walk_all()):
        if any(secrets_of_element(element) for element in node.element.iter()):
            yield Finding.at(node, Rule.SECRET, what, todo)
    if secrets_of_comments(jmx):
        yield Finding(Rule.SECRET, "", f"{what}, in an XML comment", "remove the comment", plan.path)


def _reads(plan: Node, knobs: Sequence[str]) -> Iterator[Finding]:
    reads: dict[str, dict[str | None, Node]] = {}
    for node in (plan, *plan.walk_all()):
        for text in texts_of(node.element):
            for read in reads_in(text):
                reads.setdefault(read.name, {}).setdefault(read.default, node)
    for name, defaults in reads.items():
        if None in defaults:
            at, todo = defaults[None], f"write ${{__P({name},…)}} with a default"
            what = f"{name}: a property without a default; in plain JMeter it would be 1"
            yield Finding(Rule.NO_DEFAULT, "", what, todo, at.path, at.line)
        elif len(defaults) > 1:
            what = f"{name}: a property with different defaults: {', '.join(sorted(map(str, defaults)))}"
            at, todo = list(defaults.values())[1], "write the same default everywhere"
            yield Finding(Rule.TWO_DEFAULTS, "", what, todo, at.path, at.line)
    missing = [name for name in knobs if name not in reads]
    if missing:
        what = f"{', '.join(missing)} of the run have no effect: no element uses these properties"
        if len(missing) == 1:
            what = f"{missing[0]} of the run has no effect: no element uses this property"
        if set(_TARGET_KNOBS) <= set(missing):
            what = f"--target has no effect: no request uses the properties {', '.join(missing)}"
        todo = f"write ${{__P({missing[0]},…)}} where it belongs; plans/README.md lists the properties"
        yield Finding(Rule.UNREAD_PROPERTY, "", what, todo, plan.path, plan.line)
