"""Reads summaries that are JSON: of oha, Vegeta, k6, autocannon, Artillery, bombardier and siege."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.base.units import MS_PER_S
from harness.jtl.tools.summary import TOTAL, SummaryRow, ToolSummary

_NS_PER_MS, _US_PER_MS = 1_000_000, 1_000
_CUT_AT_THE_END = "aborted due to deadline"
_CODES = "http.codes."
_BOMBARDIER = ("req1xx", "req2xx", "req3xx", "req4xx", "req5xx", "others")
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
    received, left_out = metrics.get("data_received", {}), metrics.get("dropped_iterations", {}).get("count", 0)
    hides = (f"{left_out:,} arrivals were not made: no user was free. The load was another one than asked.",)
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
        hides=hides if left_out else (),
    )


def read_autocannon(text: str) -> ToolSummary:
    """Return the summary of `autocannon --json`, without its times where it measures them wrong."""
    data = json.loads(text)
    latency, answered = data["latency"], data["requests"]["total"]
    late, broken = data["timeouts"], data["errors"] - data["timeouts"]
    hides, wrong = [], []
    if (made := latency["totalCount"]) > answered:
        wrong.append(f"with a rate it adds made-up ones ({made:,} for {answered:,} responses), unless -C is given")
    if broken:
        wrong.append(
            f"after a lost connection (here {broken}) it takes the start of a response from an earlier request"
        )
    if wrong:
        hides.append(f"Its times are wrong, and left out: {'; '.join(wrong)}.")
    if late:
        hides.append(f"Requests that timed out are not in its times: {late}.")
    times = {} if wrong or not made else latency
    lost = late + broken
    return ToolSummary(
        "autocannon",
        SummaryRow(
            TOTAL,
            sample_count=answered + lost,
            error_count=min(data["4xx"] + data["5xx"] + data["mismatches"], answered) + lost,
            average_ms=times.get("average"),
            percentiles_ms={name[1:].replace("_", "."): value for name, value in times.items() if name.startswith("p")},
            min_ms=times.get("min"),
            max_ms=times.get("max"),
            rate_per_s=(answered + lost) / data["duration"] if data["duration"] else None,
            received_bytes_per_s=data["throughput"]["average"],
        ),
        hides=hides,
    )


def read_artillery(text: str) -> ToolSummary:
    """Return the summary of `artillery run --output FILE`; its times end with the first byte of the response."""
    data = json.loads(text)["aggregate"]
    counters, times = data["counters"], data.get("summaries", {}).get("http.response_time", {})
    sent, answered = counters.get("http.requests", 0), counters.get("http.responses", 0)
    codes = {int(name.rpartition(".")[2]): count for name, count in counters.items() if name.startswith(_CODES)}
    seconds = (data["lastMetricAt"] - data["firstMetricAt"]) / MS_PER_S
    hides = ["Its times end with the first byte of a response: those of other tools are longer."]
    if sent > answered:
        hides.append(f"Requests without a response are not in its times: {sent - answered}.")
    return ToolSummary(
        "Artillery",
        SummaryRow(
            TOTAL,
            sample_count=sent,
            error_count=_failed(codes) + max(0, sent - answered),
            average_ms=times.get("mean"),
            percentiles_ms={
                "99.9" if name == "p999" else name[1:]: value
                for name, value in times.items()
                if name[0] == "p" and name[1:].isdigit()
            },
            min_ms=times.get("min"),
            max_ms=times.get("max"),
            rate_per_s=sent / seconds if seconds > 0 else None,
        ),
        hides=hides,
    )


def read_bombardier(text: str) -> ToolSummary:
    """Return the summary of `bombardier --print r --format json`; percentiles need --latencies."""
    result = json.loads(text)["result"]
    times, count = result["latency"], sum(result[name] for name in _BOMBARDIER)
    seconds = result["timeTakenSeconds"]
    return ToolSummary(
        "bombardier",
        SummaryRow(
            TOTAL,
            sample_count=count,
            error_count=result["req4xx"] + result["req5xx"] + result["others"],
            average_ms=times["mean"] / _US_PER_MS if count else None,
            percentiles_ms={name: value / _US_PER_MS for name, value in times.get("percentiles", {}).items() if count},
            max_ms=times["max"] / _US_PER_MS if count else None,
            rate_per_s=count / seconds if seconds else None,
            received_bytes_per_s=result["bytesRead"] / seconds if seconds else None,
        ),
        hides=["Requests that failed and were sent again, up to five times, are not in its count."],
    )


def read_siege(text: str) -> ToolSummary:
    """Return the summary of `siege --json-output`, whose times have two decimals."""
    data = json.loads(text)
    count = data["transactions"] + data["failed_transactions"]
    seconds = data["elapsed_time"]
    return ToolSummary(
        "siege",
        SummaryRow(
            TOTAL,
            sample_count=count,
            error_count=data["failed_transactions"],
            average_ms=data["response_time"] * MS_PER_S if count else None,
            max_ms=data["longest_transaction"] * MS_PER_S if count else None,
            rate_per_s=count / seconds if seconds else None,
        ),
        hides=["siege rounds its times to 10 ms, and states no percentiles."],
    )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * MS_PER_S


def _failed(codes: Mapping[int, Any]) -> int:
    return sum(count for code, count in codes.items() if code >= 400)
