"""The x axis of a sweep's charts: users, or the values of a setting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.base import units
from harness.report.charts.axes import Axis, value_axis
from harness.sweep.levels import Level, level_head, numbers_of
from harness.sweep.record import level_text


@dataclass(frozen=True)
class LevelAxis:
    """The axis over users, or over the values of `setting`; values that are not all numbers are `texts`, at 1, 2, …"""

    setting: str = ""
    texts: tuple[str, ...] = ()

    @classmethod
    def of(cls, levels: Sequence[Level]) -> LevelAxis:
        """Return the axis of levels."""
        values = tuple(dict.fromkeys(level.value for level in levels if level.setting))
        return cls(level_head(levels) if values else "", () if numbers_of(values) is not None else values)

    @property
    def title(self) -> str:
        """Its title: users, or the name of the setting."""
        return self.setting or "users"

    def x(self, level: Level) -> float:
        """Return the position of a level."""
        if self.texts:
            return self.texts.index(level.value) + 1
        return float(level.value)

    def text(self, x: float) -> str:
        """Return the level at a position in a sentence: 5 users, or delay_ms=20."""
        value = self.texts[round(x) - 1] if self.texts else units.number_text(x)
        return level_text(round(x), f"{self.setting}={value}" if self.setting else "")

    def axis(self, positions: Iterable[float]) -> Axis:
        """Return the axis of a chart with points at these positions."""
        if not self.texts:
            return value_axis(positions, most=10)
        return Axis(0.5, len(self.texts) + 0.5, tuple(enumerate(self.texts, start=1)))
