"""Compares the CPU time of JMeter, or of the system, per sample of two sides: it scatters less than response times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.base.errors import StartError
from harness.compare.result import RunResult
from harness.run.telemetry import GENERATOR, HARNESS, HOST, STOLEN

JMETER, SYSTEM = "JMeter", "the system"
_NOT_OF_SYSTEM = (GENERATOR, HARNESS, HOST, STOLEN)
_CONFIDENCE = 0.95
_US_PER_S = 1_000_000


@dataclass(frozen=True)
class CpuCost:
    """The CPU time per sample of both sides, µs (geometric means), and the change with its 95 % interval, as ratios."""

    base_us: float
    new_us: float
    change_ratio: float
    low_ratio: float
    high_ratio: float
    pair_count: int

    def text(self, of: str = JMETER) -> str:
        """Return one line; the CPU time is that `of` JMETER or SYSTEM."""
        per = f"{self.base_us:.2f} µs without, {self.new_us:.2f} µs with"
        interval = f"95 % interval {_percent(self.low_ratio)} to {_percent(self.high_ratio)}, {self.pair_count} pairs"
        return f"CPU of {of} per sample: {per}: {_percent(self.change_ratio)} ({interval})"


def _percent(ratio: float) -> str:
    return f"{100 * ratio:+.1f} %"


def cpu_us(result: RunResult, of: str = JMETER) -> float:
    """Return the CPU time of JMETER, or of all processes of the SYSTEM, per sample of a run, µs, within its window.

    StartError when it was not recorded.
    """
    counted = [
        usage
        for usage in result.usages
        if (usage.process == GENERATOR if of == JMETER else usage.process not in _NOT_OF_SYSTEM)
    ]
    cores = sum(usage.cpu_cores_mean for usage in counted)
    rate_per_s = result.total.rate_per_s if result.total else None
    if not cores or not rate_per_s:
        raise StartError(f"{result.name}: the CPU time of {of} is not known", "run longer")
    return cores / rate_per_s * _US_PER_S


def cpu_cost(base_us: Sequence[float], new_us: Sequence[float]) -> CpuCost:
    """Return the change of the CPU time per sample; the runs at the same index are a pair, of neighbours in time.

    The interval is Student's t of the paired differences of the logarithms.
    """
    from scipy import stats  # here, because it loads slowly and other parts of the bench import this module

    before, after = [math.log(value) for value in base_us], [math.log(value) for value in new_us]
    differences = [new - base for base, new in zip(before, after, strict=True)]
    count = len(differences)
    mean = sum(differences) / count
    deviation = math.sqrt(sum((one - mean) ** 2 for one in differences) / (count - 1))
    half = float(stats.t.ppf((1 + _CONFIDENCE) / 2, count - 1)) * deviation / math.sqrt(count)
    geometric = [math.exp(sum(logs) / count) for logs in (before, after)]
    ratios = [math.exp(value) - 1 for value in (mean, mean - half, mean + half)]
    return CpuCost(geometric[0], geometric[1], ratios[0], ratios[1], ratios[2], count)
