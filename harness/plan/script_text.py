"""Decides whether a script expression in a test plan only compares and counts, or may run arbitrary code."""

from __future__ import annotations

import re
from collections.abc import Mapping

_STRINGS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_VARIABLE = re.compile(r"\$\{([\w.-]+)\}")
# How a plan reads its secrets, after the name was replaced by 0.
_SECRET = re.compile(r"\bSystem\.getenv\(0\)")
# Methods of texts and numbers, and `vars.get`.
_CALLS = re.compile(
    "empty|size|and|or|not|intValue|longValue|doubleValue|isEmpty|length|equals|equalsIgnoreCase|contains|startsWith|"
    "endsWith|matches|trim|toLowerCase|toUpperCase|toString|indexOf"
)
# Literals, operators and objects.
_NAMES = re.compile("true|false|null|empty|size|not|and|or|eq|ne|lt|le|gt|ge|div|mod|vars")
_DEPTH_MOST = 5


def is_simple(expression: str, variables: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether a JEXL, Groovy or JavaScript expression can only compare, count and read the environment.

    `variables` are the plan's User Defined Variables, which may contain code. Functions in it are checked separately.
    """
    for _ in range(_DEPTH_MOST):
        expression = _VARIABLE.sub(lambda match: " ".join(variables.get(match[1], ("0",))), expression)
    text = _without_functions(expression)
    strings = _STRINGS.findall(text)
    text = _SECRET.sub("0", _STRINGS.sub("0", text))
    if re.search(r"[`$\[\]{}\\;@#\"']", text) or any("$" in string for string in strings):
        return False  # a Groovy text with $ in it is code
    for match in re.finditer(r"([A-Za-z_]\w*)\s*(\(?)", text):
        name, is_call = match[1], bool(match[2])
        if is_call and name == "get" and text[: match.start()].endswith("vars."):
            continue
        if not (_CALLS if is_call else _NAMES).fullmatch(name):
            return False
    return True


def _without_functions(text: str) -> str:
    """Return the text with each function replaced by 0."""
    while (start := text.rfind("${__")) >= 0:
        end = text.find("}", start)
        if end < 0:
            return text
        text = f"{text[:start]}0{text[end + 1 :]}"
    return text
