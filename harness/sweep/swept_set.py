"""Splits SET of a sweep over a setting, such as delay_ms=10,20,40, into one SET per level."""

from __future__ import annotations

import argparse
import shlex

from harness.base.errors import UsageError
from harness.run.arguments import changed
from harness.run.request import Request, resolve_request
from harness.run.set_values import split_text
from harness.system.system import Manifest


def requests_of(options: argparse.Namespace, *, is_split: bool) -> dict[str, Request]:
    """Return the request of each level by its assignment, such as delay_ms=20; without levels one with an empty key.

    SET is split when `is_split` and one of its assignments has several values, separated by commas; a setting that is
    a list is one value. UsageError when two assignments have several, and when one has several numbers or truths but
    SET is not split.
    """
    swept = _swept(options.set, resolve_request(changed(options, set=None)).manifest, is_split)
    if not swept:
        return {"": resolve_request(options)}
    sets = {assignment: set_of_level(options.set, assignment) for assignment in _assignments(swept)}
    return {level: resolve_request(changed(options, set=text)) for level, text in sets.items()}


def set_of_level(text: str | None, assignment: str) -> str:
    """Return SET of one level: `assignment` replaces that of the same name; when it is empty, the text itself."""
    if not assignment:
        return text or ""
    name = assignment.partition("=")[0]
    return shlex.join(assignment if one.partition("=")[0] == name else one for one in split_text(text or ""))


def _swept(text: str | None, manifest: Manifest | None, is_split: bool) -> str:
    """Return the assignment of SET with several values; an empty text without one."""
    settings = manifest.settings if manifest else {}
    swept_assignments = []
    for assignment in split_text(text or ""):
        name, _, value = assignment.partition("=")
        default = settings.get(name.removeprefix(f"{manifest.name}.") if manifest else name)
        if "," not in value or isinstance(default, list):
            continue
        if is_split:
            swept_assignments.append(assignment)
        elif default is not None and not isinstance(default, str):
            what = f"{assignment}: {name} has one value at a time here"
            raise UsageError(what, f'give one, or sweep over it: lth sweep --users=50 --set="{assignment}"')
    if len(swept_assignments) > 1:
        raise UsageError(
            f"{' and '.join(swept_assignments)}: a sweep has several values of one setting", "give the others one"
        )
    return swept_assignments[0] if swept_assignments else ""


def _assignments(swept: str) -> tuple[str, ...]:
    """Return an assignment per value; UsageError for an empty or repeated value."""
    name, _, text = swept.partition("=")
    values = [part.strip() for part in text.split(",")]
    if not all(values):
        raise UsageError(f"{swept}: a value is empty", f"give values such as {name}=10,20,40")
    for value in values:
        if values.count(value) > 1:
            raise UsageError(f"{swept}: {value} is listed twice", "give --repeat=2 to measure every level twice")
    return tuple(f"{name}={value}" for value in values)
