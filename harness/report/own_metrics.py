"""The metrics that a process of the system published itself, as Markdown."""

from __future__ import annotations

from harness.base import units
from harness.report.tables import cell, table
from harness.system.own_metrics import OwnMetrics, OwnMetricUse

_UNITS = {"bytes": "MB", "s": "ms"}
_COLUMNS = ("metric", "unit", "mean", "range", "per s", "in all")


def own_metrics_text(found: OwnMetrics) -> str:
    """Return the Markdown of one process: levels with mean and range, totals with their growth."""
    title = f"### {cell(found.process)}"
    if not found.answer_count:
        return f"{title}\n\nNot known: no answer in the measurement window."
    rows = table(_COLUMNS, [_row(use) for use in found.metrics], text_columns=2)
    text = f"Read {found.answer_count} times in the measurement window. *per s* and *in all*: growth of a total."
    return f"{title}\n\n{text}\n\n{rows}"


def _row(use: OwnMetricUse) -> list[str]:
    if use.growth is not None:
        return [cell(use.name), _unit(use), "", "", _text(use.mean, use.unit), _text(use.growth, use.unit)]
    low, high = _text(use.minimum, use.unit), _text(use.maximum, use.unit)
    return [cell(use.name), _unit(use), _text(use.mean, use.unit), f"{low}-{high}", "", ""]


def _unit(use: OwnMetricUse) -> str:
    return _UNITS.get(use.unit, use.unit)


def _text(value: float | None, unit: str) -> str:
    """Return a value in its shown unit: MB, ms with two decimals below 10, numbers with up to two decimals."""
    if value is None:
        return ""
    if unit == "bytes":
        return units.mb_text(value, 1)
    if unit == "s":
        return units.average_text(value * units.MS_PER_S)
    return units.average_text(value) if unit == "ms" else units.number_text(round(value, 2))
