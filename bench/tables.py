"""Renders the Markdown tables of readers and of aims."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.readers.contenders import OURS
from bench.results import Aim, Result, cpu_ratio, find, ratio
from harness.base import units
from harness.base.errors import EXIT_OK, EXIT_REGRESSED
from harness.report.tables import cell, table

_COLUMNS = (
    "reader",
    "seconds, median (range)",
    "÷ ours",
    "rows/s",
    "CPU s",
    "CPU ÷ ours",
    "peak memory MB",
    "figures",
)


def results_table(results: Sequence[Result]) -> str:
    """Return the table of readers of one file; the ratios compare seconds and CPU seconds."""
    rows = []
    for one in results:
        ours = find(results, OURS, one.row_count)
        rows.append(
            [
                cell(f"{one.contender.title} {one.version}"),
                seconds_text([timed.wall_s for timed in one.passes]),
                _ratio_text(ratio(one, ours)),
                "" if one.wall_s is None else f"{one.row_count / one.wall_s:,.0f}",
                "" if one.cpu_s is None else f"{one.cpu_s:.2f}",
                _ratio_text(cpu_ratio(one, ours)),
                units.mb_text(one.peak_bytes),
                cell(one.problem or "right"),
            ]
        )
    return table(_COLUMNS, rows)


def aims_table(aims: Sequence[Aim], what: str = "aggregate.py on") -> str:
    """Return the table of aims, each met or NOT met; `what` is the title of the first column."""
    rows = [[aim.what, cell(aim.measured), aim.wanted, "met" if aim.is_met else "NOT met"] for aim in aims]
    return table((what, "measured", "aim", ""), rows)


def print_aims(aims: Sequence[Aim], what: str = "aggregate.py on") -> int:
    """Print the table of aims and return the exit code: 1 when one is missed."""
    print(aims_table(aims, what))
    return EXIT_OK if all(aim.is_met for aim in aims) else EXIT_REGRESSED


def seconds_text(values_s: Sequence[float], decimals: int = 2) -> str:
    """Return median and range of the values in seconds; an empty text without values."""
    if len(values_s) < 2:
        return "".join(f"{value_s:.{decimals}f}" for value_s in values_s)
    low, high = min(values_s), max(values_s)
    return f"{statistics.median(values_s):.{decimals}f} ({low:.{decimals}f}-{high:.{decimals}f})"


def _ratio_text(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
