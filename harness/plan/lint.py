"""Finds the mistakes that make a JMeter test plan unfit for measuring, before the first sample."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from harness.plan.jmx import LOAD_GROUP, SIDE_GROUPS, Node, all_reads, data_files, fixed_secrets, plan_tree, reads_in

# Properties that a run sets. A plan that does not read one of these would ignore TARGET, USERS, … silently.
KNOBS = (
    "scheme",
    "host",
    "port",
    "base_path",
    "users",
    "ramp_s",
    "duration_s",
    "loops",
    "think_time_ms",
    "run_id",
)
LISTENERS = ("ResultCollector", "ResultSaver", "Summariser", "BackendListener", "MailerResultCollector")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
SAMPLER = re.compile(r"Sampler(Proxy)?$")
# The properties for an extractor's default, and for the choice of an empty default.
DEFAULTS = {
    "RegexExtractor": ("RegexExtractor.default", "RegexExtractor.default_empty_value"),
    "BoundaryExtractor": ("BoundaryExtractor.default", "BoundaryExtractor.default_empty_value"),
    "HtmlExtractor": ("HtmlExtractor.default", "HtmlExtractor.default_empty_value"),
    "JSONPostProcessor": ("JSONPostProcessor.defaultValues", ""),
    "JMESPathExtractor": ("JMESExtractor.defaultValue", ""),
    "XPathExtractor": ("XPathExtractor.default", ""),
    "XPath2Extractor": ("XPathExtractor2.default", ""),
}
LOAD_NUMBERS = (
    "ThreadGroup.num_threads",
    "ThreadGroup.ramp_time",
    "ThreadGroup.duration",
    "LoopController.loops",
    "TargetLevel",
    "RampUp",
    "Hold",
)


def lint(jmx: Path) -> tuple[str, ...]:
    """Return the mistakes in the plan, one sentence each; empty for a good plan."""
    plan = plan_tree(jmx)
    nodes = list(plan.walk())
    findings: list[str] = []
    variables = _variables(plan)
    for check in (_listeners, _codes, _extractors, _sub_results):
        findings += check(nodes)
    findings += _hosts(nodes, variables)
    findings += _labels(nodes, variables)
    findings += _load_numbers(nodes, variables)
    findings += _reads(jmx)
    if fixed_secrets(jmx):
        findings.append("a password, token or key stands in the plan: it belongs into the environment, see secrets")
    findings += (f"{name}: a CSV Data Set reads it, and there is no such file" for name in _missing_data(jmx))
    return tuple(findings)


def _listeners(nodes: list[Node]) -> Iterator[str]:
    for node in nodes:
        if node.kind in LISTENERS or ".vizualizers." in node.kind:
            group = node.thread_group
            if node.kind != "ResultSaver" or group is None or group.kind not in SIDE_GROUPS:
                yield f"{node.name}: a listener ({node.kind}) costs time and memory during the run"


def _codes(nodes: list[Node]) -> Iterator[str]:
    for node in nodes:
        if SAMPLER.search(node.kind) and not _asserts_code(node):
            yield f"{node.name}: no assertion on the response code, so that a wrong answer counts as a good one"


def _asserts_code(sampler: Node) -> bool:
    """Return whether an assertion on the code is a child of the sampler, or a sibling of it or of an ancestor."""
    scope = list(sampler.children)
    above = sampler.parent
    while above is not None:
        scope += above.children
        above = above.parent
    return any(
        node.kind == "ResponseAssertion"
        and node.is_enabled
        and node.value("Assertion.test_field") == "Assertion.response_code"
        for node in scope
    )


def _labels(nodes: list[Node], variables: dict[str, str]) -> Iterator[str]:
    """Yield the labels that occur twice in one thread group; setUp and tearDown may share theirs.

    A label from data, such as `${page}` from a CSV Data Set, differs in each iteration: it may occur twice.
    """
    counts = Counter(
        (group.name if (group := node.thread_group) else "", node.name)
        for node in nodes
        if SAMPLER.search(node.kind) and all(name in variables for name in _VARIABLE.findall(node.name))
    )
    for (group_name, label), count in counts.items():
        if count > 1:
            yield f"{label}: {count} samplers of {group_name} share this label, so that their figures are mixed"


def _extractors(nodes: list[Node]) -> Iterator[str]:
    for node in nodes:
        default, empty_is_meant = DEFAULTS.get(node.kind, ("", ""))
        if default and not node.value(default) and (not empty_is_meant or node.value(empty_is_meant) != "true"):
            yield f"{node.name}: an extractor without a default leaves the value of an earlier answer in place"


def _hosts(nodes: list[Node], variables: dict[str, str]) -> Iterator[str]:
    for node in nodes:
        for text, _ in _fixed_hosts(node, variables):
            yield f"{node.name}: the host is fixed ({text}), so that TARGET would be ignored"
        if node.value("HTTPSampler.auto_redirects") == "true":
            yield f"{node.name}: is redirected without a row, to whatever host: assert its code instead"


def _fixed_hosts(node: Node, variables: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the texts of an element that should be a property, and the host in each."""
    domain, path = (node.value(f"HTTPSampler.{name}") for name in ("domain", "path"))
    host = _resolved(domain, variables)
    if host and "${" not in host:
        yield domain, host
    url = re.match(r"https?://(?:[^/@]*@)?(\[[^]]*]|[^$/:?#]+)", _resolved(path, variables))
    if url:
        yield path, url[1].strip("[]")


def _sub_results(nodes: list[Node]) -> Iterator[str]:
    """Yield the samplers for which JMeter writes an extra row per redirect or embedded file.

    This cannot be switched off only for them: jmeter.save.saveservice.subresults=false also drops the requests of
    Transaction Controllers that generate a parent sample (tested with JMeter 5.6.3).
    """
    for node in nodes:
        if node.value("HTTPSampler.follow_redirects") == "true":
            yield f"{node.name}: follows redirects, each of which becomes a row: assert its code instead"
        if node.value("HTTPSampler.image_parser") == "true":
            yield f"{node.name}: retrieves embedded resources, each of which becomes a row: give them a sampler"


def _load_numbers(nodes: list[Node], variables: dict[str, str]) -> Iterator[str]:
    groups = [node for node in nodes if node.is_thread_group and node.kind not in SIDE_GROUPS]
    if [group.name for group in groups] != [LOAD_GROUP]:
        names = ", ".join(group.name for group in groups) or "none"
        yield f"thread groups of the load: {names}; there must be one, and its name must be {LOAD_GROUP}"
    for group in groups:
        for name in LOAD_NUMBERS:
            value = group.value(name)
            if value and not any(reads_in(_resolved(value, variables))):
                yield f"{group.name}: {name} is {value}, not a property"


def _variables(plan: Node) -> dict[str, str]:
    """Return the plan's User Defined Variables, unresolved."""
    tables = [plan, *(node for node in plan.walk() if node.kind == "Arguments")]
    return {
        argument.get("name", ""): argument.findtext("stringProp[@name='Argument.value']") or ""
        for table in tables
        for argument in table.element.iter("elementProp")
        if argument.get("elementType") == "Argument"
    }


def _resolved(text: str, variables: dict[str, str]) -> str:
    return _VARIABLE.sub(lambda match: variables.get(match[1], match[0]), text)


def _missing_data(jmx: Path) -> Iterator[str]:
    return (name for name in data_files(jmx) if not (jmx.parent / name).is_file())


def _reads(jmx: Path) -> Iterator[str]:
    defaults: dict[str, set[str | None]] = {}
    for name, default in all_reads(jmx):
        defaults.setdefault(name, set()).add(default)
    for name, values in defaults.items():
        if None in values:
            yield f"{name}: a property without a default; in plain JMeter it would be 1"
        elif len(values) > 1:
            yield f"{name}: a property with different defaults: {', '.join(sorted(map(str, values)))}"
    missing = [name for name in KNOBS if name not in defaults]
    if missing:
        yield f"the plan does not read {', '.join(missing)}, which a run sets"
