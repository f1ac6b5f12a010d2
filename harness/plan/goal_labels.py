"""Finds goals for labels that no sample of a plan can have, as far as the plan shows it before the run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.base.config import did_you_mean
from harness.plan.finding import Finding, Rule
from harness.plan.goal import Goal, GoalRule
from harness.plan.jmx import Node
from harness.plan.jmx_values import UnknownValueError, Values

_NAMED_MOST = 10
# Elements without samples of their own; a Transaction Controller writes one, and unknown elements may.
_WITHOUT_SAMPLES = re.compile(
    r"(ThreadGroup|TestPlan|(?<!Transaction)Controller|Timer|Assertion|Extractor|Manager|Arguments|Config|"
    r"PostProcessor|PreProcessor|Collector|ResultSaver|Summariser|Listener|CSVDataSet|ConfigTestElement|"
    r"CounterConfig|UserParameters|Modifier|TestAction|ResultAction|SampleTimeout|Processor)$"
)
_META = re.compile(r"[.^$*+?{}()\[\]\\|]")
_CODE = re.compile("JSR223|BeanShell|BSF")
# JMeter adds it to the parts of a sample: redirects and embedded resources.
_PART = "-0"


@dataclass(frozen=True)
class _Names:
    """The labels of a plan, and the known beginnings of those that only the run knows."""

    known: tuple[str, ...]
    beginnings: tuple[str, ...]

    def can_have(self, rule: GoalRule) -> bool:
        """Return whether a sample may have a label of a rule."""
        if any(rule.matches(name) or rule.matches(name + _PART) for name in self.known):
            return True
        label = rule.label or ""
        is_literal = not _META.search(label) or not rule.is_expression
        return any(not is_literal or label.startswith(beginning) for beginning in self.beginnings)


def impossible_labels(goal: Goal, nodes: Sequence[Node], values: Values) -> Iterator[Finding]:
    """Yield each label of a goal that no sampler or Transaction Controller of the plan has.

    Nothing is found where a script may change labels, or where a name depends on the run and may become the label.
    """
    rules = [rule for rule in goal.rules if rule.label is not None]
    if not rules or any(_sets_labels(node) for node in nodes):
        return
    names = _names(nodes, values)
    for label in dict.fromkeys(rule.label or "" for rule in rules if not names.can_have(rule)):
        there = ", ".join(names.known[:_NAMED_MOST]) + (", …" if len(names.known) > _NAMED_MOST else "")
        todo = f"{did_you_mean(label, names.known)}there are: {there or 'none'}"
        yield Finding(Rule.GOAL_LABEL, "the goal", f"no sampler or Transaction Controller has the label {label}", todo)


def _sets_labels(node: Node) -> bool:
    """Return whether an element is a script that may change labels: its text does, or it is in a file."""
    if not _CODE.search(node.kind):
        return False
    texts = [prop.text or "" for prop in node.element.iter()]
    return any("SampleLabel" in text for text in texts) or bool(node.value("filename").strip())


def _names(nodes: Sequence[Node], values: Values) -> _Names:
    known: dict[str, None] = {}
    beginnings: dict[str, None] = {}
    for node in nodes:
        if _WITHOUT_SAMPLES.search(node.kind):
            continue
        try:
            name = values.text(node.name)
        except UnknownValueError as error:
            beginnings[error.known_start] = None
        else:
            (known if name else beginnings)[name] = None
    return _Names(tuple(known), tuple(beginnings))
