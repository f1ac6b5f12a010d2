"""Reads summaries that are JSON: of oha, Vegeta and k6."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.base.units import MS_PER_S
from harness.jtl.tools.summary import TOTAL, SummaryRow, ToolSummary

_NS_PER_MS = 1_000_000
_CUT_AT_THE_END = "aborted due to deadline"
_VEGETA = {"50th": "50", "90th": "90", "95th": "95", "99th": "99"}


def read_oha(text: str) -> ToolSummary:
    """Return the summary of `oha --output-format json`; a request without a response is an error, unless oha cut it."""
    data = json.loads(text)
    summary, codes = data["summary"], {int(code): count for code, count in data["statusCodeDistribution"].items()}
    lost = sum(count for cause, count in data["errorDistribution"].items() if cause != _CUT_AT_THE_END)
    return ToolSummary(
        "oha",
        SummaryRow(
            TOTAL,
            sample_count=sum(codes.values()) + lost,
            error_count=_failed(codes) + lost,
            average_ms=_ms(summary["average"]),
            percentiles_ms={
                name.removeprefix("p"): value * MS_PER_S
                for name, value in data["latencyPercentiles"].items()
                if value is not None
            },
            min_ms=_ms(summary["fastest"]),
            max_ms=_ms(summary["slowest"]),
            rate_per_s=summary["requestsPerSec"],
            received_bytes_per_s=summary["sizePerSec"],
        ),
    )


def read_vegeta(text: str) -> ToolSummary:
    """Return the summary of `vegeta report -type json`."""
    data = json.loads(text)
    times = {name: value / _NS_PER_MS for name, value in data["latencies"].items()}
    count = data["requests"]
    return ToolSummary(
        "Vegeta",
        SummaryRow(
            TOTAL,
            sample_count=count,
            error_count=count - round(data["success"] * count),
            average_ms=times["mean"],
            percentiles_ms={percentile: times[name] for name, percentile in _VEGETA.items()},
            min_ms=times.get("min"),
            max_ms=times["max"],
            rate_per_s=data["rate"],
        ),
    )


def read_k6(text: str) -> ToolSummary:
    """Return the summary of `k6 run --summary-export FILE`, or the data of handleSummary."""
    metrics = {name: metric.get("values", metric) for name, metric in json.loads(text)["metrics"].items()}
    times, requests, failed = metrics["http_req_duration"], metrics["http_reqs"], metrics.get("http_req_failed", {})
    percentiles = {name[2:-1]: value for name, value in times.items() if name.startswith("p(")}
    received = metrics.get("data_received", {})
    return ToolSummary(
        "k6",
        SummaryRow(
            TOTAL,
            sample_count=requests["count"],
            error_count=failed.get("passes"),
            average_ms=times.get("avg"),
            percentiles_ms={**({"50": times["med"]} if "med" in times else {}), **percentiles},
            min_ms=times.get("min"),
            max_ms=times.get("max"),
            rate_per_s=requests["rate"],
            received_bytes_per_s=received.get("rate"),
        ),
    )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * MS_PER_S


def _failed(codes: Mapping[int, Any]) -> int:
    return sum(count for code, count in codes.items() if code >= 400)
