"""The trend of memory in the longest run of each workload of a release, and when it reaches its reservation."""

from __future__ import annotations

from typing import NamedTuple

from harness.base import units
from harness.judge.growth import with_cloud
from harness.metrics.resource_growth import GROWS, SPAN_LEAST_S, Growth
from harness.release.release import Release
from harness.report.run_result import RunResult

# What a service reserves, as a ratio of it.
_RESERVATION = 1.0


class MemoryTrend(NamedTuple):
    """What grows in a run; `length_s` is that of its measurement window."""

    run: str
    length_s: float
    growths: tuple[Growth, ...]

    @property
    def sentence(self) -> str:
        """Whether anything grows, and why that or a forecast is unknown."""
        if not self.growths:
            short = self.length_s < SPAN_LEAST_S
            why = (
                f"its window is shorter than {units.duration_text(SPAN_LEAST_S)}"
                if short
                else "nothing was watched under a constant load"
            )
            return f"{self.run}: unknown, {why}. --long=RUN adds a longer run."
        growing = [one for one in self.growths if one.verdict == GROWS]
        if not growing:
            return f"{self.run}: no resource grows beyond chance."
        unknown = [f"{one.process}" for one in growing if one.left_h is None]
        tail = f" When the limit is reached is unknown of {', '.join(unknown)}." if unknown else ""
        return f"{self.run}: {units.plural(len(growing), 'resource')} grow{'s' if len(growing) == 1 else ''}.{tail}"


def trends(release: Release) -> list[MemoryTrend]:
    """Return the trend of the longest run of each workload of the new release."""
    grown = []
    for plan in release.plans:
        of_plan = (runs for one, runs in release.results[0].items() if one.workload in ("", plan))
        if runs := [run for of_cell in of_plan for run in of_cell if run.window]:
            grown.append(_trend(max(runs, key=_length_s)))
    return grown


def long_trend(release: Release) -> MemoryTrend | None:
    """Return the trend of the long run of the new release; None when none was given."""
    return _trend(RunResult.of(release.long))._replace(run="the long run") if release.long else None


def _length_s(run: RunResult) -> float:
    return run.window.length_s if run.window else 0.0


def _trend(run: RunResult) -> MemoryTrend:
    assert run.window is not None
    found = with_cloud(run.growths, run.cloudwatch, run.window, run.run, _RESERVATION)
    return MemoryTrend(run.name, run.window.length_s, found)
