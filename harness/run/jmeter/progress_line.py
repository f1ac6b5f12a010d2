"""Writes the progress of a run in one line: for a log, and with a sparkline for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from harness.base import units
from harness.metrics.live import LiveFigures
from harness.metrics.metric import P95

# The sparkline shows at most the last minute; a shorter one than this says little.
SPARK_MOST, _SPARK_LEAST = 60, 8
# From here on, decimals of a rate say nothing.
_WHOLE_FROM_PER_S = 1000
# A text and its style.
Part = tuple[str, str]
_BARS = "▁▂▃▄▅▆▇█"
_GAP = "  "


def plain_line(figures: LiveFigures, passed_s: float, total_s: float | None) -> str:
    """Return a progress line for a log."""
    times = figures.times_ms.items()
    parts = [
        _clock(passed_s, total_s),
        f"users {figures.users}",
        f"errors {_about(figures)}{figures.error_count} ({units.percent_text(_error_ratio(figures))} %)",
        f"samples {figures.sample_count}",
        f"{figures.rate_per_s:.1f} req/s",
        *(f"{metric.phrase} {metric.text(value)} ms" for metric, value in times if value is not None),
    ]
    return " | ".join(parts)


def terminal_line(
    figures: LiveFigures, rates_per_s: Sequence[float], passed_s: float, total_s: float | None, width: int
) -> list[Part]:
    """Return a progress line for a terminal of so many columns, with a sparkline of the samples of each second.

    In a narrow terminal the length of the load and the share of errors are left out, then the sparkline is shorter.
    The most important values are first, since the end is cut where even these do not fit. No values, no sparkline.
    """
    parts = _values(figures, _clock(passed_s, total_s), with_ratio=True)
    if _length(parts) + len(_GAP) + _SPARK_LEAST > width:
        parts = _values(figures, _clock(passed_s, None), with_ratio=False)
    room = width - _length(parts) - len(_GAP)
    if rates_per_s and room > 0:
        parts.append((f"{_GAP}{sparkline(rates_per_s[-room:])}", "cyan"))
    return parts


def _values(figures: LiveFigures, clock: str, *, with_ratio: bool) -> list[Part]:
    errors = f"{_about(figures)}{units.plural(figures.error_count, 'error')}"
    if figures.error_count and with_ratio:
        errors += f" ({units.percent_text(_error_ratio(figures))} %)"
    rate_per_s, p95_ms = figures.rate_per_s, figures.times_ms.get(P95)
    parts = [
        (clock, "bold"),
        (f"{_GAP}{units.plural(figures.users, 'user')}", ""),
        (f"{_GAP}{errors}", "bold red" if figures.error_count else ""),
        (f"{_GAP}{rate_per_s:.{0 if rate_per_s >= _WHOLE_FROM_PER_S else 1}f} req/s", ""),
    ]
    return parts if p95_ms is None else [*parts, (f"{_GAP}{P95.phrase} {P95.text(p95_ms)} ms", "")]


def _length(parts: Sequence[Part]) -> int:
    return sum(len(text) for text, _ in parts)


def sparkline(values: Sequence[float]) -> str:
    """Return a bar per value, from none at 0 to the highest at the greatest value."""
    most = max(values, default=0)
    return "".join(_BARS[round(value / most * (len(_BARS) - 1)) if most else 0] for value in values)


def _clock(passed_s: float, total_s: float | None) -> str:
    return f"{units.clock_text(passed_s)} of {units.clock_text(total_s)}" if total_s else units.clock_text(passed_s)


def _about(figures: LiveFigures) -> str:
    return "about " if figures.is_estimate else ""


def _error_ratio(figures: LiveFigures) -> float:
    return figures.error_count / figures.sample_count if figures.sample_count else 0.0
