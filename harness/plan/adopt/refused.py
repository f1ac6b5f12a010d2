"""Finds why a check or a run would refuse an adopted plan, before there is a target."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from harness.plan.adopt.adopt import Adoption
from harness.plan.adopt.files import write_adopted
from harness.plan.check import refusals
from harness.plan.finding import Finding
from harness.plan.load import LoadArguments, parse_load, resolve_load
from harness.plan.plan import load_plan
from harness.plan.spec import Target

# No plan has this port by chance.
_ANY_TARGET = Target("http", "127.0.0.1", 61_234, "")


def refused_with_fixes(adoption: Adoption, name: str, run_files: Collection[str]) -> tuple[Finding, ...]:
    """Return the findings for which a run of the fixed plan is refused, without those that `adoption.left` has.

    Their lines are those of the JMX before the fixes. `run_files` are the names of the files that a run writes.
    UsageError when the plan's TOML cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="init-") as folder:
        write_adopted(Path(folder), name, adoption, name)
        plan = load_plan(Path(folder), name)
        load = resolve_load(parse_load(LoadArguments()), plan.load)
        found = refusals(plan, _ANY_TARGET, load, plan.own_properties(is_embedded=False), run_files)
    lines = {node.path: node.line for node in adoption.draft.plan.walk_all()}
    known = {(finding.rule, finding.path) for finding in adoption.left}
    return tuple(
        replace(finding, line=lines.get(finding.path, finding.line))
        for finding in found
        if (finding.rule, finding.path) not in known
    )
