"""Checks a plan before anything is started: what is unfit for the run is refused, the rest is printed as warnings."""

from __future__ import annotations

import re
from collections.abc import Callable

from harness.base.errors import UsageError
from harness.plan import spec as specs
from harness.plan.check import check_plan
from harness.plan.lint import lint
from harness.plan.load import ClosedLoad, OpenLoad
from harness.plan.spec import Target
from harness.run.request import Request

# Stands for the port of a system that is not started yet: no plan has it by chance.
_ANY_PORT = 61_234
_WARNINGS_SHOWN = 10


def check_asked(request: Request, load: ClosedLoad | OpenLoad) -> None:
    """Raise a UsageError unless the plan does what a run with this load asks for."""
    plan = request.plan
    embedded = {} if request.target else plan.embedded_properties
    check_plan(plan, request.target or _target_to_come(request), load, {**plan.properties, **embedded})


def say_warnings(request: Request, say: Callable[[str], None]) -> None:
    """Print what lint finds in a plan that may run."""
    shape = request.plan.shape_path
    warnings = lint(shape)
    for warning in warnings[:_WARNINGS_SHOWN]:
        say(f"warning: {shape.parent.name}/{shape.name}: {warning}")
    if len(warnings) > _WARNINGS_SHOWN:
        say(f"warning: {shape.parent.name}/{shape.name}: {len(warnings) - _WARNINGS_SHOWN} more of this kind")


def _target_to_come(request: Request) -> Target:
    """Return where the system will listen, with a port of its own where it is still to be chosen."""
    port = request.port or _ANY_PORT
    text = re.sub(r"\{\{.*?\}\}", str(port), request.manifest.target if request.manifest else "")
    try:
        return specs.parse_target(text)
    except UsageError:
        return Target("http", "127.0.0.1", port, "")
