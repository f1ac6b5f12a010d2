"""Fixes the elements around requests: embedded resources, assertions, listeners, labels, default values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree

from harness.plan.adopt.draft import Fix
from harness.plan.adopt.variables import Variables
from harness.plan.checks.lint import (
    ASSERTION_SCOPE,
    GroupLabel,
    asserts_code,
    checks_no_variable,
    encoded,
    is_listener,
)
from harness.plan.jmx.trace import HTTP_SAMPLER
from harness.plan.jmx.tree import READS, SAMPLER, Node, enabled_nodes, function_parameters, reads_of, texts_of
from harness.plan.jmx_writer import add_bool, add_int, add_string, child, new_element

# Without redirects JMeter's own rule applies, 200 to 399; a Cache Manager may get 304.
_SUCCESS, _ANY_SUCCESS, _CACHED = r"2\d\d", r"[23]\d\d", r"(2\d\d|304)"
# The conditions of a While Controller that ends when a sample fails.
_UNTIL_FAILURE = ("", "LAST")
_READS_SUCCESS = re.compile(r"last_sample_ok|\bisSuccessful\b|\.successful\b")
_READS_LABELS = re.compile(r"__samplerName\b|\b(get)?SampleLabel\b|\bsampleLabel\b|\bsampler\w*\.(getName\b|name\b)")
_CODE_NAMES = {_SUCCESS: "Code 2xx", _ANY_SUCCESS: "Code 2xx or 3xx", _CACHED: "Code 2xx or 304"}


def fix_elements(mapping: Variables) -> None:
    """Change what single elements do: embedded resources, paths, assertions and listeners."""
    draft = mapping.draft
    for node in mapping.nodes:
        # Each embedded resource adds a row, and may be on any host.
        if node.value("HTTPSampler.image_parser") not in ("", "false"):
            draft.set_value(node, "HTTPSampler.image_parser", "false", Fix.EMBEDDED, tag="boolProp")
        # JMeter sends no request with a quotation mark in its path.
        if path := node.value("HTTPSampler.path"):
            draft.set_value(node, "HTTPSampler.path", encoded(path), Fix.PATHS)
        # A variable without a name is never set: the assertion checks the response instead.
        if checks_no_variable(node):
            draft.set_value(node, ASSERTION_SCOPE, "parent", Fix.ASSERTIONS)
        if is_listener(node):
            draft.set_attribute(node, "enabled", "false", Fix.LISTENERS)


def fix_codes(mapping: Variables) -> None:
    """Assert the code of each HTTP request that nothing checks: once for a thread group with no other samplers.

    Where the plan's logic can see a failure, only what JMeter counts as one becomes one.
    """
    tops: dict[ElementTree.Element, list[Node]] = {}
    for node in mapping.nodes:
        if SAMPLER.search(node.kind):
            tops.setdefault(_top(node).element, []).append(node)
    success = _CACHED if any(node.kind == "CacheManager" for node in mapping.nodes) else _SUCCESS
    sees_failures = any(map(_sees_failures, mapping.nodes))
    for samplers in tops.values():
        top = _top(samplers[0])
        bare = [node for node in samplers if HTTP_SAMPLER.fullmatch(node.kind) and not asserts_code(node)]
        codes = [_ANY_SUCCESS if sees_failures or not _follows(node) else success for node in bare]
        is_any_other = any(
            node.kind == "ModuleController" or node.value("Assertion.test_field") == "Assertion.response_code"
            for node in top.walk()
        )
        if len(bare) == len(samplers) > 1 and not is_any_other and len(set(codes)) == 1:
            bare = [top]
        for node, code in zip(bare, codes, strict=False):
            mapping.draft.add_below(node, _code_assertion(code), Fix.CODES)


def _follows(sampler: Node) -> bool:
    """Return whether a request follows redirects."""
    return "true" in (sampler.value(f"HTTPSampler.{name}_redirects") for name in ("follow", "auto"))


def _sees_failures(node: Node) -> bool:
    """Return whether what an element does depends on the success of a sample."""
    if node.kind == "ResultAction":
        return True
    if node.kind == "WhileController" and node.value("WhileController.condition").strip() in _UNTIL_FAILURE:
        return True
    if node.is_thread_group and node.value("ThreadGroup.on_sample_error") not in ("", "continue"):
        return True
    return any(_READS_SUCCESS.search(text) for text in node.element.itertext())


def _top(node: Node) -> Node:
    """Return the thread group or test fragment of an element: the one below the Test Plan."""
    return next(one for one in node.and_above() if not (one.parent and one.parent.parent))


def _code_assertion(code: str) -> ElementTree.Element:
    element = new_element("ResponseAssertion", "AssertionGui", _CODE_NAMES[code])
    texts = child(element, "collectionProp", name="Asserion.test_strings")  # JMeter's spelling
    add_string(texts, "code", code)
    add_string(element, "Assertion.custom_message", f"expected {code}")
    add_string(element, "Assertion.test_field", "Assertion.response_code")
    add_bool(element, "Assertion.assume_success", False)
    add_int(element, "Assertion.test_type", 1)
    return element


def fix_labels(mapping: Variables) -> None:
    """Number the samplers of a thread group that share a label; a label from data differs by itself.

    A plan that reads labels keeps them.
    """
    if any(_READS_LABELS.search(text) for node in mapping.nodes for text in texts_of(node.element)):
        return
    fixed = mapping.values.variables.keys()
    named = ((node, re.findall(r"\$\{(\w+)\}", node.name)) for node in mapping.nodes if SAMPLER.search(node.kind))
    samplers = [node for node, variables in named if fixed >= set(variables)]
    used = Counter(GroupLabel.of(node) for node in samplers)
    seen: Counter[GroupLabel] = Counter()
    for node in samplers:
        label = GroupLabel.of(node)
        seen[label] += 1
        number = seen[label]
        if number > 1:
            while (unique := label._replace(label=f"{label.label} ({number})")) in used:
                number += 1
            used[unique] = 1
            mapping.draft.set_attribute(node, "testname", unique.label, Fix.LABELS)


def fix_properties(mapping: Variables, owners: Sequence[Node], defaults: Mapping[str, str]) -> None:
    """Give each property that the plan reads one default: the run's, that of enabled elements, or JMeter's own.

    Without a default __P returns 1, and __property the name of the property.

    A property with different defaults in enabled elements keeps them: which one is meant is not known.
    """
    may_run = {node.element for node in enabled_nodes(mapping.draft.plan)}
    enabled = _defaults(node.element for node in owners if node.element in may_run)
    certain = {name: texts[0] for name, texts in enabled.items() if len(set(texts)) == 1} | dict(defaults)
    for node in owners:
        known = defaults if node.element in may_run else certain
        for prop in node.element.iter():
            if prop.text and "${__" in prop.text:
                mapping.draft.set_text(prop, _with_defaults(prop.text, known), Fix.PROPERTIES)
        if "${__" in node.name:
            mapping.draft.set_attribute(node, "testname", _with_defaults(node.name, known), Fix.PROPERTIES)


def different_defaults(root: ElementTree.Element, run: dict[str, str]) -> dict[str, list[str]]:
    """Return the plan's own properties that are read with different defaults, each with its sorted defaults."""
    found = {name: sorted(set(texts)) for name, texts in _defaults([root]).items() if name not in run}
    return {name: texts for name, texts in found.items() if len(texts) > 1}


def _defaults(elements: Iterable[ElementTree.Element]) -> dict[str, list[str]]:
    """Return the defaults with which elements read properties, in file order, by property."""
    defaults: dict[str, list[str]] = {}
    for read in (read for element in elements for read in reads_of(element)):
        if read.default is not None:
            defaults.setdefault(read.name, []).append(read.default)
    return defaults


def _with_defaults(text: str, certain: Mapping[str, str]) -> str:
    """Return a text in which each read of a property has a default; a `certain` one replaces another one."""
    position = 0
    while match := READS.search(text, position):
        call = function_parameters(text, match.end())
        parameters, position = call.texts, match.end()
        name, at = parameters[0].strip(), 1 if match[1] == "P" else 2
        has_default = len(parameters) > at
        unset = "1" if match[1] == "P" else name
        wanted = certain.get(name, parameters[at] if has_default else unset)
        if "${" not in parameters[0] and (not has_default or parameters[at] != wanted):
            head = ",".join([*parameters[:at], *[""] * (at - len(parameters))])
            escaped = wanted.replace(",", "\\,")
            text = f"{text[: match.end()]}{head},{escaped}{text[call.end :]}"
    return text
