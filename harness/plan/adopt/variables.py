"""Replaces the value of a property of a test element, or of the User Defined Variable that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.plan.adopt.draft import Draft, Fix
from harness.plan.jmx.tree import VARIABLE, VARIABLE_TABLES, Node
from harness.plan.jmx.values import Values


@dataclass
class Variables:
    """Maps values of a draft to properties of the run. `nodes` are the elements that JMeter may run.

    `mapped` are the User Defined Variables that were changed, each with the property that it reads now.
    """

    draft: Draft
    nodes: Sequence[Node]
    values: Values
    mapped: dict[str, str] = field(default_factory=dict)

    def known(self, raw: str) -> str | None:
        """Return the value of a text before the run; None when only the run knows it."""
        known = self.values.known(raw)
        return None if known is None else known.strip()

    def number(self, raw: str, fallback: int) -> int:
        """Return a whole number that is known before the run, else the fallback."""
        try:
            return int(float(self.known(raw) or ""))
        except (ValueError, OverflowError):
            return fallback

    def map(self, node: Node, name: str, text: str, *, reads: str, fix: Fix) -> None:
        """Make a property of an element `text`, which reads the property `reads`, unless it reads that already.

        When the element reads one User Defined Variable, that variable is changed instead, so that scripts and other
        elements with the variable see the same value.
        """
        raw = node.value(name).strip()
        if reads in self.values.properties_in(raw):
            return
        variable = VARIABLE.fullmatch(raw)
        if variable and (self.mapped.get(variable[1]) == reads or self._set_variable(variable[1], text, fix)):
            self.mapped[variable[1]] = reads
        else:
            self.draft.set_value(node, name, text, fix, tag="stringProp")

    def _set_variable(self, name: str, text: str, fix: Fix) -> bool:
        """Change the definitions of a User Defined Variable; False when there is none, or the run changes it."""
        if name in self.mapped or name not in self.values.variables or name in self.values.setters:
            return False
        for node in self.nodes:
            if node.kind in VARIABLE_TABLES:
                for argument in node.element.iter("elementProp"):
                    named = argument.findtext("stringProp[@name='Argument.name']") or argument.get("name") or ""
                    value = argument.find("stringProp[@name='Argument.value']")
                    if named.strip() == name and value is not None:
                        self.draft.set_text(value, text, fix)
        return True
