"""Reads summaries that are text: of wrk, wrk2, ab and hey."""

from __future__ import annotations

import re

from harness.base.errors import UsageError
from harness.base.units import BYTES_PER_KB, MS_PER_S
from harness.jtl.tools.summary import TOTAL, SummaryRow, ToolSummary

_MS = {"us": 1 / 1000, "ms": 1, "s": MS_PER_S, "m": 60 * MS_PER_S, "h": 3600 * MS_PER_S}
_BYTES = {"B": 1, "KB": BYTES_PER_KB, "MB": BYTES_PER_KB**2, "GB": BYTES_PER_KB**3}
_TIME = r"([\d.]+)(us|ms|s|m|h)\b"


def read_wrk(text: str) -> ToolSummary:
    """Return the summary of wrk or wrk2.

    Errors are statuses from 400 on, connections that failed, and responses later than --timeout. wrk counts the last
    as requests, and not the connections; it leaves both out of the times. LookupError for a text that is cut off.
    """
    _refuse_several(r"^ *Running \S+ test @ ", text)
    latency = re.search(rf"Latency\s+{_TIME}\s+\S+\s+{_TIME}", text)
    size = _found(r"Transfer/sec:\s+([\d.]+)([KMGT]?B)\s*\n", text)
    requests = _found(rf"(\d+) requests in {_TIME}", text)
    sockets = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    connect, read, write, late = map(int, sockets.groups()) if sockets else (0, 0, 0, 0)
    answered, lost = int(requests[1]), connect + read + write
    failed = (_whole(r"Non-2xx or 3xx responses: (\d+)", text) or 0) + late
    # A late response may have a status from 400 on, too.
    errors, seconds = lost + min(failed, answered), float(requests[2]) * _MS[requests[3]] / MS_PER_S
    is_timed = latency is not None and answered > late
    hides = [f"Late responses are not in its times: {late} of {answered} came after --timeout."] if late else []
    if lost:
        hides.append(f"Requests without a response are not in its times and its own count: {lost} failed.")
    return ToolSummary(
        "wrk2" if "Recorded Latency" in text else "wrk",
        SummaryRow(
            TOTAL,
            sample_count=answered + lost,
            error_count=errors,
            average_ms=float(latency[1]) * _MS[latency[2]] if latency and is_timed else None,
            percentiles_ms={
                f"{float(percent):g}": float(value) * _MS[unit]
                for percent, value, unit in re.findall(rf"^\s+([\d.]+)%\s+{_TIME}\s*$", text, re.MULTILINE)
                if is_timed
            },
            max_ms=float(latency[3]) * _MS[latency[4]] if latency and is_timed else None,
            rate_per_s=(answered + lost) / seconds
            if lost and seconds
            else float(_found(r"Requests/sec:\s+([\d.]+)", text)[1]),
            received_bytes_per_s=float(size[1]) * _BYTES[size[2]],
        ),
        hides=hides,
    )


def read_ab(text: str) -> ToolSummary:
    """Return the summary of ab. Errors are statuses outside of 200 to 299 and requests without a response.

    ab counts a response as failed whose length differs from the first one's, and a lost connection up to three times.
    UsageError for an ab that gave up; LookupError for a text that is cut off.
    """
    _refuse_several("This is ApacheBench", text)
    gave_up = re.search(r"apr_\w+: .*\(\d+\)|Test aborted after \d+ failures", text)
    if gave_up and "Complete requests:" not in text:
        raise UsageError(f"ab gave up: {gave_up[0]}", "run it again with -r: it then counts failures")
    _found(r"longest request\)\s*\n|Complete requests:\s+0\n[\s\S]*Requests per second", text)
    total = re.search(r"^Total:\s+(\d+)\s+(\d+)\s+[\d.]+\s+(\d+)\s+(\d+)", text, re.MULTILINE)
    connect, receive, length, exceptions = (
        _whole(rf"{name}: (\d+)", text) or 0 for name in ("Connect", "Receive", "Length", "Exceptions")
    )
    complete = int(_found(r"Complete requests:\s+(\d+)", text)[1])
    lost, bad = max(receive, exceptions), _whole(r"Non-2xx responses:\s+(\d+)", text) or 0
    rate_per_s = _number(r"Requests per second:\s+([\d.]+)", text)
    kb_per_s = _number(r"Transfer rate:\s+([\d.]+)", text)
    hides = []
    if length > lost + bad:
        hides.append(
            f"{length} responses are not as long as the first one: ab counts them as failed, this table does not."
        )
    if lost:
        hides.append(f"Requests without a response are in its times: {lost} failed.")
    return ToolSummary(
        "ab",
        SummaryRow(
            TOTAL,
            sample_count=complete + connect,
            error_count=min(lost + bad, complete) + connect,
            average_ms=float(total[2]) if total else None,
            percentiles_ms={
                percent: float(value) for percent, value in re.findall(r"^ +(\d\d)%\s+(\d+)$", text, re.MULTILINE)
            },
            min_ms=float(total[1]) if total else None,
            max_ms=float(total[4]) if total else None,
            rate_per_s=rate_per_s * (complete + connect) / complete if rate_per_s and complete else rate_per_s,
            received_bytes_per_s=None if kb_per_s is None else kb_per_s * BYTES_PER_KB,
        ),
        hides=hides,
    )


def read_ab_percentages(text: str) -> ToolSummary:
    """Return the percentiles of `ab -e`."""
    rows = [line.split(",") for line in text.splitlines()[1:]]
    if rows[-1][0] != "100" or not text.endswith("\n"):
        raise LookupError("100")
    return ToolSummary("ab -e", SummaryRow(TOTAL, percentiles_ms={row[0]: float(row[1]) for row in rows}))


def read_hey(text: str) -> ToolSummary:
    """Return the summary of hey. A status from 400 on and a request without a response is an error."""
    _refuse_several(r"^Summary:\s+Total:", text)
    codes = {int(code): int(count) for code, count in re.findall(r"\[(\d+)\]\s+(\d+) responses", text)}
    _found(r"Status code distribution:[\s\S]*(Error distribution:[\s\S]*\n|\n\n)\n\Z", text)
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
            min_ms=_ms(fastest) if codes else None,
            max_ms=_ms(slowest) if codes else None,
            rate_per_s=_number(r"Requests/sec:\s+([\d.]+)", text),
        ),
        hides=[f"Requests without a response are not in its times: {lost}."] if lost else [],
    )


def _found(pattern: str, text: str) -> re.Match[str]:
    """Return the match of a line that a whole summary has. LookupError for a text that is cut off."""
    match = re.search(pattern, text)
    if match is None:
        raise LookupError(pattern)
    return match


def _number(pattern: str, text: str) -> float | None:
    match = re.search(pattern, text)
    return float(match[1]) if match else None


def _refuse_several(begin: str, text: str) -> None:
    """Raise UsageError for a text with the output of several runs, as of `wrk … >> file`: no number is that of all."""
    if (count := len(re.findall(begin, text, re.MULTILINE))) > 1:
        raise UsageError(f"the output of {count} runs", "save each run in its own file")


def _whole(pattern: str, text: str) -> int | None:
    number = _number(pattern, text)
    return None if number is None else int(number)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * MS_PER_S
