"""Makes a temporary plan of a JMX for a first run of it."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from harness.base import units
from harness.base.errors import UsageError
from harness.base.log import log
from harness.base.paths import shown
from harness.plan.adopt.adopt import adopt
from harness.plan.adopt.files import write_adopted
from harness.plan.adopt.groups import GroupSize

_DURATION_S = 60


class TemporaryPlan(NamedTuple):
    """A plan outside of plans/: its folder and its name."""

    folder: Path
    name: str


def first_look(jmx: Path, build: Path) -> TemporaryPlan:
    """Write a plan of the JMX with all fixes, for one user and a minute.

    UsageError when the JMX has scripts, which only a plan can permit.
    """
    name = re.sub(r"[^\w.-]+", "-", jmx.stem).lstrip("-._") or "plan"
    folder = build / "first-look" / name
    adoption = adopt(jmx, name, folder, moves_secrets=False)
    to_keep_it = f"make init PLAN={name} JMX={shlex.quote(shown(jmx))} FIX=1"
    if adoption.found.scripts:
        count = units.plural(len(adoption.found.scripts), "script")
        raise UsageError(f"{jmx.name}: has {count}, which can reach any host", f"list and permit them: {to_keep_it}")
    found = replace(adoption.found, sizes=tuple(map(_least, adoption.found.sizes)))
    write_adopted(folder, name, replace(adoption, found=found), jmx.name)
    changes = units.plural(len(adoption.draft.changes), "change")
    log(f"{jmx.name}: a copy with {changes} is run; {to_keep_it} makes it a plan")
    return TemporaryPlan(folder, name)


def _least(size: GroupSize) -> GroupSize:
    """Return a thread group of one user and a minute."""
    return replace(size, users=1, ramp_s=1, duration_s=_DURATION_S, loops=None, stages=(), rate_per_s=None)
