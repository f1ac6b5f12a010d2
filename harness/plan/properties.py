"""The JMeter properties (-J) that a run gives its plan: where the system listens, and the load."""

from __future__ import annotations

from harness.base import units
from harness.plan.load import ClosedLoad, OpenLoad
from harness.plan.spec import Target


def target_properties(target: Target) -> dict[str, str]:
    """Return the -J properties that say where the system listens."""
    return {
        "scheme": target.scheme,
        "host": target.host,
        "port": str(target.port),
        "base_path": target.base_path,
    }


def load_properties(load: ClosedLoad | OpenLoad) -> dict[str, str]:
    """Return the -J properties of the load; a duration of 0 means that only the loops end the run."""
    if isinstance(load, OpenLoad):
        return {}  # the schedule stands in effective.jmx
    return {
        "users": str(load.users),
        "ramp_s": units.number_text(load.ramp_s),
        "duration_s": "0" if load.duration_s is None else units.number_text(load.duration_s),
        "loops": "-1" if load.loops is None else str(load.loops),
    }
