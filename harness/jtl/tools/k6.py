"""Reads the samples of k6: `--out json=FILE` and `--out csv=FILE`.

http_req_duration is sending, waiting and receiving, without DNS, connecting and TLS. Its time stamp is the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from harness.jtl.sample import Dropped, Sample
from harness.jtl.tools.rows import Row, each_record, each_row, ms_since_1970, sample_of

_DURATION, _USERS = "http_req_duration", "vus"
# Of a rate k6 leaves iterations out when no user is free to begin them.
_MADE, _LEFT_OUT = "iterations", "dropped_iterations"
_SIGNS = tuple(f'"metric":"{name}"' for name in (_DURATION, _USERS, _MADE, _LEFT_OUT))
_SECONDS_DIGITS = 10
_NO_TIMES = "This CSV file of k6 has whole seconds instead of exact times: K6_CSV_TIME_FORMAT=unix_milli adds them"


class _Metrics:
    """Turns values of metrics into samples, with the last known number of users, and counts iterations in `dropped`."""

    def __init__(self, dropped: Dropped) -> None:
        self._users: int | None = None
        self._dropped = dropped

    def sample(self, metric: str, at: str, value: float, tags: Mapping[str, str]) -> Sample | None:
        """Return the sample of a value; None for another metric."""
        if metric == _USERS:
            self._users = int(value)
        elif metric == _MADE:
            self._dropped.made_arrival_count += int(value)
        elif metric == _LEFT_OUT:
            self._dropped.left_arrival_count += int(value)
        if metric != _DURATION:
            return None
        expected, code = tags.get("expected_response"), tags.get("status") or "0"
        return sample_of(
            ms_since_1970(at) - value,
            value,
            tags.get("name") or tags.get("url") or _DURATION,
            code,
            success=expected == "true" if expected else None,
            message=tags.get("error") or "",
            thread_name=tags.get("scenario") or "",
            users=self._users,
        )


def read_json(stream: BinaryIO, _name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of `k6 run --out json=FILE`."""
    metrics = _Metrics(dropped)

    def read(line: str) -> Sample | None:
        # Nine of ten lines are of other metrics: they are only looked at.
        if not any(sign in line for sign in _SIGNS) and line.endswith("}"):
            return None
        point = json.loads(line)
        if point["type"] != "Point":
            return None
        data = point["data"]
        return metrics.sample(point["metric"], data["time"], float(data["value"]), data["tags"] or {})

    return each_row(stream, dropped, read)


def read_csv(stream: BinaryIO, _name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of `k6 run --out csv=FILE`."""
    metrics = _Metrics(dropped)

    def read(row: Row) -> Sample | None:
        if len(row["timestamp"]) == _SECONDS_DIGITS and not dropped.unknown:
            dropped.unknown.append(_NO_TIMES)
        return metrics.sample(row["metric_name"], row["timestamp"], float(row["metric_value"]), row)

    return each_record(stream, dropped, read)
