"""Finds the CPU that a run lost to others just in those seconds that make it unsteady.

Of the machine's cores others use two kinds: what the hypervisor gives to other virtual machines (stolen), and what
processes use that the telemetry does not list. The interval is the one with the greatest sum of cores above a share of
the machine's. It is evidence only when three things are true: the rest of the window lost less than half as much,
response times in the interval are longer than in the rest, and the rest alone is steady. Of seconds that are excluded
as warm-up, in which the system became slower, only the first two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.base import units
from harness.metrics.full_load import Drive
from harness.metrics.timeline import SecondFigures, total
from harness.metrics.window import STEADY, Window, WindowSpec, find_window
from harness.run.telemetry.processes import HOST, STOLEN

if TYPE_CHECKING:
    from harness.run.telemetry.table import UsageSeries

# A run alone on its machine leaves about 1 % of the cores that no process of it accounts for.
OTHER_CPU_RATIO = 0.10
# Other processes may have used idle cores; a hypervisor takes a core from a thread that is running.
STOLEN_CPU_RATIO = 0.05
# The CPU of a single second is also that of a neighbour.
_LEAST_S = 3
# The interval must be slower than the rest by this ratio.
_SLOWER_RATIO = 1.2


@dataclass(frozen=True)
class LostCpu:
    """The cores that others used on average from `from_s` to `to_s`, in seconds after the load began.

    `is_stolen` is True for the hypervisor, False for processes that are not listed. `during_ms` is the average response
    time in the interval, `else_ms` that in the rest of the window. With `is_of_warm_up` the interval is before the
    window, and `else_ms` that of the rest of the run.
    """

    is_stolen: bool
    cores: float
    from_s: int
    to_s: int
    during_ms: float
    else_ms: float
    is_of_warm_up: bool = False

    def text(self, core_count: int) -> str:
        """Return the sentence without its end: who used how much of the machine's cores, and when."""
        who = "The hypervisor took" if self.is_stolen else "Other programs used"
        of = units.plural(core_count, "core")
        return f"{who} {self.cores:.1f} of {of} from {self.from_s} s to {self.to_s} s"


def find_lost_cpu(
    window: Window, seconds: Sequence[SecondFigures], series: Sequence[UsageSeries], core_count: int
) -> LostCpu | None:
    """Return the CPU that the seconds lost which make a window unsteady, or a warm-up slower; None without.

    `seconds` and `series` are those of the whole run.
    """
    if not window.reason and not window.slow_down:
        return None
    is_of_warm_up, counted = not window.reason, range(window.from_s, window.to_s)
    span, compared = (range(window.from_s), range(len(seconds))) if is_of_warm_up else (counted, counted)
    slower_ratio = 1 if is_of_warm_up else _SLOWER_RATIO
    by_process = {one.process: one for one in series}
    stolen = _by_second(by_process[STOLEN]) if STOLEN in by_process else {}
    for is_stolen, lost, ratio in ((True, stolen, STOLEN_CPU_RATIO), (False, _unlisted(by_process), OTHER_CPU_RATIO)):
        if interval := _interval(lost, span, ratio * core_count):
            rest = [second for second in compared if second not in interval]
            others = [seconds[second] for second in rest]
            during_ms, else_ms = average_ms(seconds[interval.start : interval.stop]), average_ms(others)
            inside, outside = _mean(lost, interval), _mean(lost, rest)
            if not during_ms or not else_ms or during_ms < slower_ratio * else_ms or inside <= 2 * outside:
                continue
            if is_of_warm_up or _is_steady(others):
                return LostCpu(is_stolen, inside, interval.start, interval.stop, during_ms, else_ms, is_of_warm_up)
    return None


def _is_steady(seconds: Sequence[SecondFigures]) -> bool:
    return find_window(WindowSpec(STEADY), seconds, Drive(users_are_driven=False)).is_steady is True


def _unlisted(by_process: Mapping[str, UsageSeries]) -> dict[int, float]:
    """Return the cores that no listed process used; no second in which one of them was not measured."""
    if HOST not in by_process:
        return {}
    listed = [_by_second(one) for name, one in by_process.items() if name not in (HOST, STOLEN)]
    return {
        second: cores - sum(one[second] for one in listed)
        for second, cores in _by_second(by_process[HOST]).items()
        if all(second in one for one in listed)
    }


def _by_second(series: UsageSeries) -> dict[int, float]:
    """Return the cores in each second of the run; a point is the mean of the seconds before its time."""
    if len(series.seconds) < 2:
        return {}
    span_s = series.seconds[-1] - series.seconds[0]
    width_s = max(1, round(span_s / (len(series.seconds) - 1)))
    # A row has the CPU of the second before it; the time of a point is the mean of those of its rows. Half a second is
    # always rounded up: rounded to even numbers, every other second had none.
    begins = [math.floor(at_s - width_s / 2) for at_s in series.seconds]
    points = zip(begins, series.cpu_cores, strict=True)
    return {second: cores for begin, cores in points for second in range(begin, begin + width_s)}


def _interval(lost: Mapping[int, float], span: range, above: float) -> range | None:
    """Return the seconds of a time with the greatest sum of cores above a value; None when they are too few."""
    best, interval, total, start = 0.0, range(0), 0.0, span.start
    for second in span:
        total += lost.get(second, 0.0) - above
        if total <= 0:
            total, start = 0.0, second + 1
        elif total > best:
            best, interval = total, range(start, second + 1)
    return interval if _LEAST_S <= len(interval) < len(span) else None


def _mean(lost: Mapping[int, float], seconds: Sequence[int]) -> float:
    return sum(lost.get(second, 0.0) for second in seconds) / len(seconds)


def average_ms(seconds: Sequence[SecondFigures]) -> float | None:
    """Return the average response time in some seconds; None without a sample."""
    sums = total(seconds)
    return sums.elapsed_sum_ms / sums.sample_count if sums.sample_count else None
