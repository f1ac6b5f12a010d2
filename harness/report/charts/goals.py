"""Goals in a chart: dashed lines across the plot, with their names in the legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.report.charts.svg import Key, Plot, goal_key

# A goal above this multiple of all values is not drawn, because it would flatten the lines; the legend names it.
_ROOM = 2.0
_DASHES = ("8 4", "2 3")


class ChartGoal(NamedTuple):
    """A goal of a chart: its text, and its value on the y axis."""

    text: str
    limit: float


class GoalLines(NamedTuple):
    """The goals of a chart that are drawn, and those that are far above its values."""

    near: Sequence[ChartGoal]
    beyond: Sequence[ChartGoal]

    @classmethod
    def of(cls, goals: Sequence[ChartGoal], greatest: float) -> GoalLines:
        """Return the goals of a chart whose greatest value is `greatest`."""
        near = [goal for goal in goals if goal.limit <= _ROOM * greatest]
        return cls(near, [goal for goal in goals if goal not in near])

    @property
    def limits(self) -> list[float]:
        """The values of the goals that are drawn."""
        return [goal.limit for goal in self.near]

    @property
    def keys(self) -> list[Key]:
        """The entries of the legend."""
        keys = [goal_key(goal.text, _DASHES[index % 2]) for index, goal in enumerate(self.near)]
        return keys + [goal_key(f"{goal.text}, above the chart", _DASHES[1]) for goal in self.beyond]

    def drawn(self, plot: Plot) -> list[str]:
        """Return the lines across the plot."""
        return [plot.level(goal.limit, _DASHES[index % 2]) for index, goal in enumerate(self.near)]
