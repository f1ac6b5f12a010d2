"""What runs must share for their figures to stand in one line."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from harness.base.units import BYTES_PER_MB
from harness.plan.load import LoadRecord
from harness.run.record import RunRecord

_BYTES_PER_GB = 1024 * BYTES_PER_MB
# Steps from a power of two to the next one.
_STEPS = 4


@dataclass(frozen=True)
class Conditions:
    """The load, the profile, the machine of the generator, and the target: None for a system started here.

    What is changed on purpose, such as settings, versions and commit, is not among it. `memory_gb` is rounded up to the
    size that the machine was sold with: of that its kernel keeps some for itself, a few MB more or less at each boot.
    """

    load: LoadRecord
    profile: str
    cpu_model: str
    cpu_count: int
    memory_gb: float
    target: str | None

    @classmethod
    def of(cls, run: RunRecord) -> Conditions:
        """Return the conditions of a run."""
        host = run.host
        return cls(run.load, run.profile, host.cpu_model, host.cpu_count, sold_gb(host.memory_bytes), run.target)

    def unlike_count(self, other: Conditions) -> int:
        """Return in how many of the fields two conditions differ."""
        return sum(getattr(self, field.name) != getattr(other, field.name) for field in fields(self))


def sold_gb(memory_bytes: int) -> float:
    """Return the memory in GB (1024³ bytes), rounded up to an eighth of the next power of two.

    15.4 and 15.6 GB are a machine of 16, 23.5 is one of 24, 251 one of 256: the sizes that machines have lie on these
    steps or well within them, and what their systems see lies a little below.
    """
    if memory_bytes <= 0:
        return 0.0
    gigabytes = memory_bytes / _BYTES_PER_GB
    step: float = 2.0 ** math.ceil(math.log2(gigabytes)) / (2 * _STEPS)
    return math.ceil(gigabytes / step) * step
