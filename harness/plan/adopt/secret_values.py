"""Moves passwords, tokens and keys out of a JMX into environment variables."""

from __future__ import annotations

import re
from typing import NamedTuple

from harness.plan.adopt.fix import Fix
from harness.plan.adopt.variables import Variables
from harness.plan.finding import Finding, Rule
from harness.plan.jmx import Node, secrets_of_element

_ENVIRONMENT = '${__groovy(System.getenv("'
_TEXTS = ("Argument.value", "Header.value", "Cookie.value")


class FixedSecrets(NamedTuple):
    """The values that were moved, by environment variable, and findings for the secrets that are still in the JMX."""

    values: dict[str, str]
    left: list[Finding]


def fix_secrets(mapping: Variables, owners: list[Node], plan_name: str) -> FixedSecrets:
    """Replace secrets in variables, parameters, headers and bodies by reads of environment variables."""
    names: dict[str, str] = {}
    left = []
    for node in owners:
        for element in node.element.iter():
            for value in secrets_of_element(element):
                texts = [child for child in element if child.get("name") in _TEXTS and value in (child.text or "")]
                if not texts and any(_ENVIRONMENT in (child.text or "") for child in element):
                    continue  # a part of it, or what contained it, has been replaced
                if element.tag != "elementProp" or not texts or any(_has_function(text.text or "") for text in texts):
                    todo = "pass it as an environment variable: docs/safety.md, Secrets"
                    left.append(Finding.at(node, Rule.SECRET, "contains a password, token or key", todo))
                    continue
                name = names.get(value) or _name(plan_name, element.get("name", ""), names)
                names[value] = name
                for text in texts:
                    read = f'{_ENVIRONMENT}{name}"))}}'
                    mapping.draft.set_text(text, (text.text or "").replace(value, read), Fix.SECRETS)
    return FixedSecrets({name: value for value, name in names.items()}, list(dict.fromkeys(left)))


def _has_function(text: str) -> bool:
    """Return whether a text has a function besides those that read the environment."""
    return "${__" in text.replace(_ENVIRONMENT, "")


def _name(plan_name: str, key: str, taken: dict[str, str]) -> str:
    """Return an environment variable that no other secret of the plan has: SHOP_PASSWORD, SHOP_PASSWORD_2."""
    base = re.sub(r"\W+", "_", f"{plan_name}_{key or 'secret'}").upper().strip("_")
    if base[0].isdigit():
        base = f"PLAN_{base}"
    name, number = base, 1
    while name in taken.values():
        number += 1
        name = f"{base}_{number}"
    return name
