"""Reads summaries of Locust: `--json-file NAME`, NAME_stats.csv and NAME_stats_history.csv.

Locust rounds the times in them: to 10 ms from 100 ms on, to 100 ms from 1 s on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from harness.jtl.tools.rows import Row, rows_of
from harness.jtl.tools.summary import TOTAL, SummaryRow, ToolSummary

_NO_LAST_SECOND = (
    "Locust writes this file once a second and not at its end: the last second is missing. locust --json-file NAME "
    "has all requests."
)
_PERCENTILES = ("50", "75", "90", "95", "99", "99.9")


def read_json(text: str) -> ToolSummary:
    """Return the summary of `locust --json-file NAME`, or of the output of `locust --json`."""
    entries = json.loads(text)
    ends = [entry["last_request_timestamp"] for entry in entries if entry["last_request_timestamp"] is not None]
    span_s = max(ends) - min(entry["start_time"] for entry in entries) if ends else 0.0
    rows = [_json_row(f"{one['method'] or ''} {one['name']}".strip(), [one], span_s) for one in entries]
    return ToolSummary("Locust", _json_row(TOTAL, entries, span_s), rows)


def _json_row(label: str, entries: list[Mapping[str, Any]], span_s: float) -> SummaryRow:
    times: Counter[float] = Counter()
    for entry in entries:
        times.update({float(time): count for time, count in entry["response_times"].items()})
    count = sum(entry["num_requests"] for entry in entries)
    timed = [entry for entry in entries if entry["num_requests"] > entry["num_none_requests"]]
    timed_count = sum(entry["num_requests"] - entry["num_none_requests"] for entry in timed)
    length = sum(entry["total_content_length"] for entry in entries)
    return SummaryRow(
        label,
        sample_count=count,
        error_count=sum(entry["num_failures"] for entry in entries),
        average_ms=sum(entry["total_response_time"] for entry in timed) / timed_count if timed_count else None,
        percentiles_ms={name: _percentile(times, float(name) / 100) for name in _PERCENTILES if times},
        min_ms=min((entry["min_response_time"] for entry in timed), default=None),
        max_ms=max((entry["max_response_time"] for entry in timed), default=None),
        rate_per_s=count / span_s if span_s > 0 else None,
        received_bytes_per_s=length / span_s if span_s > 0 else None,
    )


def _percentile(times: Counter[float], ratio: float) -> float:
    """Return the time of rank n * ratio, rounded, as JMeter does."""
    rank, passed = max(1, int(times.total() * ratio + 0.5)), 0
    for time in sorted(times):
        passed += times[time]
        if passed >= rank:
            return time
    raise ValueError(rank)


def read_stats(text: str) -> ToolSummary:
    """Return the table of `locust --csv NAME`, the file NAME_stats.csv."""
    *rows, total = (_stats_row(row) for row in rows_of(text))
    if total.label != TOTAL:
        raise ValueError(total.label)  # it is cut off
    return ToolSummary("Locust", total, rows, (_NO_LAST_SECOND,))


def read_history(text: str) -> ToolSummary:
    """Return the totals in the last rows of NAME_stats_history.csv: by name with --csv-full-history.

    Its percentiles are those of the last ten seconds, so only the median is of all requests. The rate is the growth of
    the count between the first and the last second, or since --reset-stats began to count again.
    """
    every = rows_of(text)
    begin_s, total = int(every[0]["Timestamp"]), 0
    hides = [_NO_LAST_SECOND]
    for row in every:
        if _label(row) != TOTAL:
            continue
        if (count := int(row["Total Request Count"])) < total:
            begin_s = int(row["Timestamp"]) - 1
            hides = [_NO_LAST_SECOND, "--reset-stats dropped the requests of the first seconds."]
        total = count
    seconds = int(every[-1]["Timestamp"]) - begin_s
    last = {_label(row): row for row in every}
    rows = {label: _history_row(label, row, seconds) for label, row in last.items()}
    return ToolSummary("Locust", rows.pop(TOTAL), list(rows.values()), hides)


def _label(row: Row) -> str:
    """Return the label; of TOTAL the type is empty, and of a request with the same name it is not."""
    return f"{row['Type']} {row['Name']}" if row["Type"] else (TOTAL if row["Name"] == "Aggregated" else row["Name"])


def _history_row(label: str, row: Row, seconds: int) -> SummaryRow:
    count = int(row["Total Request Count"])
    rate_per_s = count / seconds if seconds > 0 else None
    return SummaryRow(
        label,
        sample_count=count,
        error_count=int(row["Total Failure Count"]),
        average_ms=_time(row, "Total Average Response Time", count),
        percentiles_ms={"50": float(row["Total Median Response Time"])} if count else {},
        min_ms=_time(row, "Total Min Response Time", count),
        max_ms=_time(row, "Total Max Response Time", count),
        rate_per_s=rate_per_s,
        received_bytes_per_s=None if rate_per_s is None else float(row["Total Average Content Size"]) * rate_per_s,
    )


def _stats_row(row: Row) -> SummaryRow:
    count, rate_per_s = int(row["Request Count"]), float(row["Requests/s"])
    percentiles = {name[:-1]: row[name] for name in row if name.endswith("%") and name != "100%"}
    return SummaryRow(
        _label(row),
        sample_count=count,
        error_count=int(row["Failure Count"]),
        average_ms=_time(row, "Average Response Time", count),
        percentiles_ms={name: float(value) for name, value in percentiles.items() if value != "N/A"},
        min_ms=_time(row, "Min Response Time", count),
        max_ms=_time(row, "Max Response Time", count),
        rate_per_s=rate_per_s,
        received_bytes_per_s=float(row["Average Content Size"]) * rate_per_s,
    )


def _time(row: Row, column: str, count: int) -> float | None:
    """Return a time; None without a request, for which Locust writes 0."""
    return float(row[column]) if count else None
