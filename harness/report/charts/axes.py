"""The axes of a chart: range, position and text of the ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from harness.base import units

TIME_STEPS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
LOG_FLOOR = 0.5  # below it a logarithmic axis is linear, so that it includes 0
_ROUNDING = 1e-9  # 0.3 / 0.1 is 2.9999999999999996


@dataclass(frozen=True)
class Axis:
    """A range with its ticks, each a value and its text; `unit` is the unit of the texts."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    unit: str = ""
    is_log: bool = False

    def position(self, value: float) -> float:
        """Return the position of a value on the axis: the value itself, or its logarithm to base 10."""
        if not self.is_log:
            return value
        return math.log10(value) if value >= LOG_FLOOR else math.log10(LOG_FLOOR) + (value - LOG_FLOOR) * math.log10(2)

    def share(self, value: float) -> float:
        """Return the relative position of a value: 0 at the low end, 1 at the high end, limited to these."""
        low, high = self.position(self.low), self.position(self.high)
        return min(1.0, max(0.0, (self.position(value) - low) / (high - low)))


def nice_step(span: float, most: int) -> float:
    """Return the smallest step that divides `span` into at most `most` parts: 1, 2 or 5 times a power of ten."""
    rough = span / most
    power = 10.0 ** math.floor(math.log10(rough))
    return next((factor for factor in (1, 2, 5) if factor * power >= rough * (1 - _ROUNDING)), 10) * power


def number_tick(value: float, step: float, top: float) -> str:
    """Return a tick's text: thousands separators, the decimals that the step needs, M and G for millions and up."""
    if top >= 1e13 or step < 1e-5:
        return f"{value:g}"
    for power, least, letter in ((1e9, 1e10, " G"), (1e6, 1e6, " M")):
        if top >= least:
            return number_tick(value / power, step / power, top / power) + (letter if value else "")
    decimals = max(0, -math.floor(math.log10(step) + _ROUNDING))
    return f"{value:,.{decimals}f}" if value else "0"


def ticks_between(low: float, high: float, step: float) -> list[float]:
    """Return the multiples of `step` from low to high."""
    first, last = math.ceil(low / step - _ROUNDING), math.floor(high / step + _ROUNDING)
    return [number * step for number in range(first, last + 1)]


def value_axis(values: Iterable[float], most: int = 5) -> Axis:
    """Return an axis from 0 that ends at a tick at or above the greatest value; whole values get whole ticks."""
    known = list(values)
    greatest = max(known, default=0.0)
    step = nice_step(greatest, most) if greatest > 0 else 1.0
    if all(float(value).is_integer() for value in known):
        step = max(1.0, step)
    top = max(1, math.ceil(greatest / step - _ROUNDING)) * step
    return Axis(0.0, top, tuple((value, number_tick(value, step, top)) for value in ticks_between(0.0, top, step)))


def near_axis(values: Iterable[float]) -> Axis:
    """Return an axis around the values; an axis from 0 would hide small changes."""
    known = list(values)
    low, high = min(known), max(known)
    span = (high - low) or abs(high) * 0.1 or 1.0
    step = nice_step(span * 1.1, 5)
    low, high = math.floor((low - span * 0.05) / step) * step, math.ceil((high + span * 0.15) / step) * step
    low = max(0.0, low)
    return Axis(low, high, tuple((value, number_tick(value, step, high)) for value in ticks_between(low, high, step)))


def time_axis(seconds: Iterable[float], most: int = 9) -> Axis:
    """Return an axis of seconds from 0, or the first second before it, to the last; texts are s, m:ss or h:mm."""
    known = list(seconds)
    low = min(0.0, min(known, default=0.0))
    high = max(known, default=0.0)
    high = high if high > low else low + 1.0
    span = high - low
    if span < most:
        step = nice_step(span, most)
    else:
        step = next((step for step in TIME_STEPS_S if step * most >= span), 86400 * nice_step(span / 86400, most))
    if span <= 120:
        return Axis(low, high, tuple((at, number_tick(at, step, high)) for at in ticks_between(low, high, step)), "s")
    is_long = span >= 3600
    ticks = tuple((at, _clock_tick(at, is_long)) for at in ticks_between(low, high, step))
    return Axis(low, high, ticks, "h:mm" if is_long else "m:ss")


def _clock_tick(seconds: float, is_long: bool) -> str:
    """Return h:mm of a long axis, m:ss of another; a time before the first sample has a minus sign."""
    sign = "−" if seconds < 0 else ""
    whole = abs(round(seconds))
    return f"{sign}{whole // 3600}:{whole % 3600 // 60:02d}" if is_long else f"{sign}{units.clock_text(whole)}"


def log_axis(low: float, high: float) -> Axis:
    """Return a logarithmic axis: ticks at powers of ten, and at 2 and 5 between them while there are few.

    A short axis, of less than a power of ten, has ticks at equal distances, at whole values.
    """
    decades = math.log10(high / max(low, LOG_FLOOR))
    if decades < 1:
        step = max(1.0, nice_step(high - low, 5))
        values = ticks_between(low, high, step)
    else:
        powers = range(math.floor(math.log10(max(low, LOG_FLOOR))), math.ceil(math.log10(high)) + 1)
        values = [factor * 10.0**power for power in powers for factor in ((1, 2, 5) if decades < 3 else (1,))]
    ticks = [(value, f"{value:,.0f}") for value in values if value >= 1 and low <= value <= high]
    if low <= 0:
        ticks.insert(0, (0.0, "0"))
    return Axis(low, high, tuple(ticks), is_log=True)
