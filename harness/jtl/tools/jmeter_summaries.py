"""Reads summaries of JMeter: a dashboard's statistics.json, and the tables that its listeners save as CSV.

The tables are those of Aggregate Report, Summary Report and the plugins' Synthesis Report, and of the command-line tool
of the plugins. Listeners write numbers as the user's language has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from harness.base.units import BYTES_PER_KB
from harness.jtl.tools.rows import Row, rows_of
from harness.jtl.tools.summary import TOTAL, SummaryRow, ToolSummary

_PERCENT_LINE = re.compile(r"(?:aggregate_report_)?(\d+(?:[.,]\d+)?)%[ _][Ll]ine")
# Each column under its names: of the listeners, of older ones, and of the plugins' command-line tool.
_COLUMNS = {
    "label": ("Label", "sampler_label"),
    "count": ("# Samples", "aggregate_report_count"),
    "average": ("Average", "average"),
    "median": ("Median", "aggregate_report_median"),
    "min": ("Min", "aggregate_report_min"),
    "max": ("Max", "Maximum", "aggregate_report_max"),
    "errors": ("Error %", "aggregate_report_error%"),
    "rate": ("Throughput", "aggregate_report_rate"),
    "received": ("Received KB/sec", "KB/sec", "aggregate_report_bandwidth"),
}
_PER_S = {"sec": 1, "min": 60, "hour": 3600}
_DASHBOARD = {"medianResTime": "50", "pct1ResTime": "90", "pct2ResTime": "95", "pct3ResTime": "99"}
_ASSUMED = "Its pct1, pct2 and pct3 are taken for p90, p95 and p99: aggregate_rpt_pct1 to 3 may have set others."


def read_statistics(text: str) -> ToolSummary:
    """Return the statistics.json of JMeter's dashboard."""
    *rows, total = (_dashboard_row(row) for row in _total_last(json.loads(text)))
    return ToolSummary("JMeter's dashboard", total, rows, (_ASSUMED,))


def _total_last(data: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [*(row for name, row in data.items() if name != "Total"), {**data["Total"], "transaction": TOTAL}]


def _dashboard_row(row: Mapping[str, Any]) -> SummaryRow:
    count = row["sampleCount"]
    return SummaryRow(
        row["transaction"],
        sample_count=count,
        error_count=row["errorCount"],
        average_ms=row["meanResTime"],
        percentiles_ms={name: row[key] for key, name in _DASHBOARD.items() if key in row},
        min_ms=row["minResTime"],
        max_ms=row["maxResTime"],
        rate_per_s=row["throughput"],
        received_bytes_per_s=row["receivedKBytesPerSec"] * BYTES_PER_KB,
    )


def read_table(text: str) -> ToolSummary:
    """Return the table that a listener of JMeter, or its plugins, saved as CSV."""
    *rows, total = (_table_row(row) for row in rows_of(text))
    if total.label != TOTAL:
        raise ValueError(total.label)  # it is cut off
    return ToolSummary("JMeter's report table", total, rows)


def _table_row(row: Row) -> SummaryRow:
    values = {key: next((row[name] for name in names if name in row), "") for key, names in _COLUMNS.items()}
    times = {match[1].replace(",", "."): row[name] for name in row if (match := _PERCENT_LINE.fullmatch(name))}
    if values["median"]:
        times = {"50": values["median"], **times}
    count, received = int(values["count"]), _number(values["received"])
    return SummaryRow(
        values["label"],
        sample_count=count,
        error_count=round(count * (_number(values["errors"]) or 0.0)),
        average_ms=_number(values["average"]),
        percentiles_ms={name: value for name, text in times.items() if (value := _number(text)) is not None},
        min_ms=_number(values["min"]),
        max_ms=_number(values["max"]),
        rate_per_s=_number(values["rate"]),
        received_bytes_per_s=None if received is None else received * BYTES_PER_KB,
    )


def _number(text: str) -> float | None:
    """Return the value of 12, 1.50, 1,50, 5.000% or 3.2/min, the latter per second; None for no text."""
    amount, _, unit = text.strip().partition("/")
    if not amount:
        return None
    value = float(amount.removesuffix("%").strip().replace(",", "."))
    return value / (100 if amount.endswith("%") else _PER_S[unit or "sec"])
