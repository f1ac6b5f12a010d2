"""The conditions that runs must share to be in the same history."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from harness.base.units import BYTES_PER_MB
from harness.plan.load.model import LoadRecord
from harness.run.record import RunRecord

_BYTES_PER_GB = 1024 * BYTES_PER_MB
# Memory sizes between one power of two and the next.
_STEPS = 4


@dataclass(frozen=True)
class Conditions:
    """The load, the profile, the load generator's machine, and the target: None for a system that the harness starts.

    Settings, versions and commit are not conditions: they are what a history compares. `memory_gb` is rounded up to the
    installed size, because the kernel reserves a few MB more or less at each boot.
    """

    load: LoadRecord
    profile: str
    cpu_model: str
    cpu_count: int
    memory_gb: float
    target: str | None

    @classmethod
    def of(cls, run: RunRecord | None) -> Conditions:
        """Return the conditions of a run; of one without a record nothing is known: its model is empty."""
        if run is None:
            return cls(LoadRecord("", None, None, 0, None, None, 0), "", "", 0, 0, None)
        host = run.host
        return cls(run.load, run.profile, host.cpu_model, host.cpu_count, sold_gb(host.memory_bytes), run.target)

    def unlike_count(self, other: Conditions) -> int:
        """Return the number of fields that differ."""
        return sum(getattr(self, field.name) != getattr(other, field.name) for field in fields(self))


def sold_gb(memory_bytes: int) -> float:
    """Return the memory in GB (1024³ bytes), rounded up to an eighth of the next power of two.

    15.4 and 15.6 GB become 16, 23.5 becomes 24, 251 becomes 256. Installed sizes are on these steps, and the operating
    system reports a little less.
    """
    if memory_bytes <= 0:
        return 0.0
    gigabytes = memory_bytes / _BYTES_PER_GB
    step: float = 2.0 ** math.ceil(math.log2(gigabytes)) / (2 * _STEPS)
    return math.ceil(gigabytes / step) * step
