"""Estimates the heap that a load needs in JMeter, before it starts: each user has a clone of the plan."""

from __future__ import annotations

import math
from pathlib import Path

from harness.base import units
from harness.base.errors import UsageError
from harness.plan.jmx import enabled_nodes, plan_tree
from harness.plan.load import Load, OpenLoad
from harness.plan.spec import Target

# Measured in JMeter 5.6.3 on Java 17 (docs/benchmarks.md, Memory per user): heap after a full collection.
_BASE_MB = 64
_USER_KB, _PROPERTY_KB, _TLS_KB = 52.0, 0.24, 25.0
# A heap that is fuller than this is collected all the time; responses and rows need the rest.
_FILLED = 0.7
_ROUND_MB = 256
_KB_PER_MB = units.BYTES_PER_MB // units.BYTES_PER_KB


def user_kb(jmx: Path, target: Target | None) -> float:
    """Return the heap (KB) that an active user of a plan needs: the clone of the plan, buffers, and the TLS session."""
    is_tls = target is not None and target.scheme == "https"
    count = sum(1 for node in enabled_nodes(plan_tree(jmx)) for _ in node.element.iter())
    return _USER_KB + _PROPERTY_KB * count + (_TLS_KB if is_tls else 0.0)


def users_most(heap_mb: int, each_kb: float) -> int:
    """Return how many users fit into a heap."""
    return max(1, int((_FILLED * heap_mb - _BASE_MB) * _KB_PER_MB / each_kb))


def check_memory(load: Load, each_kb: float, heap_mb: int) -> None:
    """Raise a UsageError when the users of a closed load do not fit into JMeter's heap."""
    users = 0 if isinstance(load, OpenLoad) else load.users or 0
    if users <= users_most(heap_mb, each_kb):
        return
    needed_mb = _BASE_MB + users * each_kb / _KB_PER_MB
    least_mb = math.ceil(needed_mb / _FILLED / _ROUND_MB) * _ROUND_MB
    what = (
        f"{users:,} users of this plan need about {units.number_text(round(needed_mb))} MB ({each_kb:.0f} KB each); "
        f"the load generator has a heap of {heap_mb} MB"
    )
    raise UsageError(what, f"set heap_mb = {least_mb} in [generator] of the profile, or drive fewer users")
