"""Finds the variables that conditions, loops and lists of a test plan read, and that nothing in the plan can set.

JMeter leaves the text ${name} in their place, as of a misspelt name: a comparison then has one answer for ever, a
number of loops, seconds or ms is 0, a share is 100 %, and a ForEach Controller finds no value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.plan.jmx.elements import class_of
from harness.plan.jmx.think_time import is_fixed_pause
from harness.plan.jmx.tree import CODE, VARIABLE, Node, texts_of
from harness.plan.jmx.values import Values

_CALL = re.compile(r"\$\{__\w+\(?")
# Of a text with another one of these signs, the plan may ask whether a variable is set: "${x}" == "\${x}".
_ASKS = re.compile(r"[$\\{]")
# What JMeter sets by itself, and the numbers and groups of what an extractor or a query finds: id_1, id_matchNr.
_OF_JMETER = re.compile(r"(JMeterThread|START|TESTSTART)\.|__|COOKIE_")
_ENDING = re.compile(r"(_\d+)?_(g\d*|matchNr|ALL|#|\d+)")
# Elements that may set variables of any name: of another file, of code in Java, or of an answer.
_ANY_NAME = ("IncludeController", "JavaSampler", "JUnitSampler", "RegExUserParameters")
# Code that names the variable that it reads or sets, and code that may set others.
_VARS = re.compile(
    r"\bvars\b(?!\s*\.\s*(get|put|remove)(Object)?\s*\(\s*([\"'])[^\"'$]*\3\s*[,)])|JMeterVariables|getVariables"
)


@dataclass(frozen=True)
class ConditionVariables:
    """What the conditions, loops and lists of a plan read; `nodes` are its elements.

    What a disabled one sets was switched off on purpose.
    """

    nodes: Sequence[Node]
    values: Values

    @classmethod
    def of(cls, tree: Node, values: Values, folder: Path) -> ConditionVariables:
        """Return the conditions of a plan in `folder`; `values` has the properties of the run."""
        nodes = (tree, *tree.walk_all())
        return cls(nodes, Values.of(nodes, values.properties, folder))

    def unset_above(self, node: Node) -> str:
        """Return a variable that a controller above an element reads although nothing sets it; empty without any."""
        for above in node.and_above():
            key, names_in = _READS.get(above.kind.rpartition(".")[2], ("", _compared))
            names = names_in(above.value(key)) if key else ()
            if unset := next((name for name in names if not self._may_be_set(name)), ""):
                return unset
            if key == _LIST and self._is_empty_list(above.value(key).strip()):
                return above.value(key).strip()
        return ""

    def unset_share(self, node: Node) -> str:
        """Return a variable that is the share of a Throughput Controller above although nothing sets it.

        JMeter takes 100 % for it, or one execution.
        """
        shares = [one.value(_SHARES[one.value(_STYLE) == "1"]) for one in node.and_above() if one.kind == _THROUGHPUT]
        return next((name for share in shares for name in _counted(share) if not self._may_be_set(name)), "")

    def unset_pause(self, node: Node) -> str:
        """Return a variable that is all of a setting of a pause of an element's users although nothing sets it."""
        pauses = (one for one in node.in_scope() if is_fixed_pause(one))
        names = (name for one in pauses for text in texts_of(one.element) for name in _counted(text))
        return next((name for name in names if not self._may_be_set(name)), "")

    def _is_empty_list(self, name: str) -> bool:
        """Return whether nothing can set a variable whose name begins so, such as id_1 and id1 of id."""
        if not name or "${" in name or self._is_any_set:
            return False
        known = (*self.values.setters, *self.values.variables)
        words = re.compile(rf"(?<![\w.-]){re.escape(name)}_?\d*(?![\w.-])")
        return not any(one.startswith(name) for one in known) and not any(map(words.search, self._own_texts))

    def _may_be_set(self, name: str) -> bool:
        if self._is_any_set or _OF_JMETER.match(name):
            return True
        names = {name, _ENDING.sub("", name)}
        if any(one in known for one in names for known in (self.values.setters, self.values.variables)):
            return True
        words = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, names))})(?![\w.-])")
        return any(words.search(text) for text in self._own_texts)

    @cached_property
    def _is_any_set(self) -> bool:
        if "*" in self.values.setters or any(node.kind.rpartition(".")[2] in _ANY_NAME for node in self.nodes):
            return True
        return any(_VARS.search(text) for text in self._own_texts)

    @cached_property
    def _own_texts(self) -> Sequence[str]:
        """The texts of code and of plugins, which may name variables anywhere, without the references to any."""
        return [VARIABLE.sub("", text) for node in self.nodes for text in texts_of(node.element) if _is_own(node, text)]


def _is_own(node: Node, text: str) -> bool:
    known = class_of(node.kind)
    return known is None or bool(known.plugin) or bool(CODE.search(node.kind)) or "vars" in text


def _compared(condition: str) -> list[str]:
    """Return the variables of a condition that does more than to ask for one, or whether it is set."""
    names = VARIABLE.findall(condition)
    rest = _CALL.sub("", VARIABLE.sub("", condition))
    return [] if VARIABLE.fullmatch(condition.strip()) or _ASKS.search(rest) else names


def _counted(number: str) -> list[str]:
    """Return the variable that a number is; none of a computed one."""
    variable = VARIABLE.fullmatch(number.strip())
    return [variable[1]] if variable else []


_THROUGHPUT, _STYLE = "ThroughputController", "ThroughputController.style"
# Of style 0 and of style 1.
_SHARES = "ThroughputController.maxThroughput", "ThroughputController.percentThroughput"
# What controllers read, and the variables in it. A list has the name of its variables.
_LIST = "ForeachController.inputVal"
_READS = {
    "IfController": ("IfController.condition", _compared),
    "WhileController": ("WhileController.condition", _compared),
    "LoopController": ("LoopController.loops", _counted),
    "RunTime": ("RunTime.seconds", _counted),
    "ForeachController": (_LIST, _counted),
}
