"""Reads summaries that are text or tables: of wrk, wrk2, ab, hey and Locust."""

from __future__ import annotations

import re

from harness.base.units import BYTES_PER_KB, MS_PER_S
from harness.jtl.tools.rows import by_name, fields_of
from harness.jtl.tools.summary import TOTAL, SummaryRow, ToolSummary

_MS = {"us": 1 / 1000, "ms": 1, "s": MS_PER_S, "m": 60 * MS_PER_S, "h": 3600 * MS_PER_S}
_BYTES = {"B": 1, "KB": BYTES_PER_KB, "MB": BYTES_PER_KB**2, "GB": BYTES_PER_KB**3}
_TIME = r"([\d.]+)(us|ms|s|m|h)\b"


def read_wrk(text: str) -> ToolSummary:
    """Return the summary of wrk or wrk2. A status outside of 200 to 399 and a socket error is an error."""
    latency = re.search(rf"Latency\s+{_TIME}\s+\S+\s+{_TIME}", text)
    size = re.search(r"Transfer/sec:\s+([\d.]+)([KMG]?B)", text)
    sockets = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    lost = sum(map(int, sockets.groups())) if sockets else 0
    return ToolSummary(
        "wrk2" if "Recorded Latency" in text else "wrk",
        SummaryRow(
            TOTAL,
            sample_count=_whole(r"(\d+) requests in ", text),
            error_count=lost + (_whole(r"Non-2xx or 3xx responses: (\d+)", text) or 0),
            average_ms=float(latency[1]) * _MS[latency[2]] if latency else None,
            percentiles_ms={
                f"{float(percent):g}": float(value) * _MS[unit]
                for percent, value, unit in re.findall(rf"^\s+([\d.]+)%\s+{_TIME}\s*$", text, re.MULTILINE)
            },
            max_ms=float(latency[3]) * _MS[latency[4]] if latency else None,
            rate_per_s=_number(r"Requests/sec:\s+([\d.]+)", text),
            received_bytes_per_s=float(size[1]) * _BYTES[size[2]] if size else None,
        ),
    )


def read_ab(text: str) -> ToolSummary:
    """Return the summary of ab. Failed requests include those whose length differs, as ab counts them."""
    total = re.search(r"^Total:\s+(\d+)\s+(\d+)\s+[\d.]+\s+(\d+)\s+(\d+)", text, re.MULTILINE)
    failed = [_whole(rf"{name}:\s+(\d+)", text) or 0 for name in ("Failed requests", "Non-2xx responses")]
    kb_per_s = _number(r"Transfer rate:\s+([\d.]+)", text)
    return ToolSummary(
        "ab",
        SummaryRow(
            TOTAL,
            sample_count=_whole(r"Complete requests:\s+(\d+)", text),
            error_count=max(failed),
            average_ms=float(total[2]) if total else None,
            percentiles_ms={
                percent: float(value) for percent, value in re.findall(r"^ +(\d\d)%\s+(\d+)$", text, re.MULTILINE)
            },
            min_ms=float(total[1]) if total else None,
            max_ms=float(total[4]) if total else None,
            rate_per_s=_number(r"Requests per second:\s+([\d.]+)", text),
            received_bytes_per_s=None if kb_per_s is None else kb_per_s * BYTES_PER_KB,
        ),
    )


def read_ab_percentages(text: str) -> ToolSummary:
    """Return the percentiles of `ab -e`."""
    rows = [line.split(",") for line in text.splitlines()[1:]]
    return ToolSummary("ab -e", SummaryRow(TOTAL, percentiles_ms={row[0]: float(row[1]) for row in rows}))


def read_hey(text: str) -> ToolSummary:
    """Return the summary of hey. A status from 400 on and a request without a response is an error."""
    codes = {int(code): int(count) for code, count in re.findall(r"\[(\d+)\]\s+(\d+) responses", text)}
    lost = sum(map(int, re.findall(r"^\s+\[(\d+)\]\t", text.partition("Error distribution:")[2], re.MULTILINE)))
    average, fastest, slowest = (
        _number(rf"{name}:\s+([\d.]+) secs", text) for name in ("Average", "Fastest", "Slowest")
    )
    return ToolSummary(
        "hey",
        SummaryRow(
            TOTAL,
            sample_count=sum(codes.values()) + lost,
            error_count=sum(count for code, count in codes.items() if code >= 400) + lost,
            average_ms=_ms(average),
            percentiles_ms={
                percent: float(value) * MS_PER_S for percent, value in re.findall(r"(\d+)%+ in ([\d.]+) secs", text)
            },
            min_ms=_ms(fastest),
            max_ms=_ms(slowest),
            rate_per_s=_number(r"Requests/sec:\s+([\d.]+)", text),
        ),
    )


def read_locust(text: str) -> ToolSummary:
    """Return the table of `locust --csv NAME`, the file NAME_stats.csv; its percentiles are rounded by Locust."""
    lines = text.splitlines()
    columns = fields_of(lines[0])
    *rows, total = (_locust_row(by_name(columns, fields_of(line))) for line in lines[1:] if line)
    return ToolSummary("Locust", total, rows)


def read_locust_history(text: str) -> ToolSummary:
    """Return the totals in the last rows of NAME_stats_history.csv of Locust: by name with --csv-full-history.

    Its percentiles are those of the last ten seconds, so only the median is of all requests. The rate is the growth of
    the count between the first and the last second.
    """
    lines = text.splitlines()
    columns = fields_of(lines[0])
    every = [by_name(columns, fields_of(line)) for line in lines[1:] if line]
    first, last = every[0], {row["Type"] + row["Name"]: row for row in every}
    seconds = int(every[-1]["Timestamp"]) - int(first["Timestamp"])
    rows = [_history_row(row, seconds) for row in last.values()]
    (total,) = (row for row in rows if row.label == TOTAL)
    return ToolSummary("Locust", total, [row for row in rows if row is not total])


def _history_row(row: dict[str, str], seconds: int) -> SummaryRow:
    count = int(row["Total Request Count"])
    rate_per_s = count / seconds if seconds else None
    return SummaryRow(
        TOTAL if row["Name"] == "Aggregated" else f"{row['Type']} {row['Name']}".strip(),
        sample_count=count,
        error_count=int(row["Total Failure Count"]),
        average_ms=float(row["Total Average Response Time"]),
        percentiles_ms={"50": float(row["Total Median Response Time"])} if count else {},
        min_ms=float(row["Total Min Response Time"]),
        max_ms=float(row["Total Max Response Time"]),
        rate_per_s=rate_per_s,
        received_bytes_per_s=None if rate_per_s is None else float(row["Total Average Content Size"]) * rate_per_s,
    )


def _locust_row(row: dict[str, str]) -> SummaryRow:
    count, rate_per_s = int(row["Request Count"]), float(row["Requests/s"])
    percentiles = {name[:-1]: row[name] for name in row if name.endswith("%") and name != "100%"}
    return SummaryRow(
        TOTAL if row["Name"] == "Aggregated" else f"{row['Type']} {row['Name']}".strip(),
        sample_count=count,
        error_count=int(row["Failure Count"]),
        average_ms=float(row["Average Response Time"]),
        percentiles_ms={name: float(value) for name, value in percentiles.items() if value != "N/A"},
        min_ms=float(row["Min Response Time"]),
        max_ms=float(row["Max Response Time"]),
        rate_per_s=rate_per_s,
        received_bytes_per_s=float(row["Average Content Size"]) * rate_per_s,
    )


def _number(pattern: str, text: str) -> float | None:
    match = re.search(pattern, text)
    return float(match[1]) if match else None


def _whole(pattern: str, text: str) -> int | None:
    number = _number(pattern, text)
    return None if number is None else int(number)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * MS_PER_S
