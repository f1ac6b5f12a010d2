"""The two runs of docs/example-runs: simulated, and the same bytes every time.

`python -m tests.support.example_runs` writes them.
"""

from __future__ import annotations

import gzip
import heapq
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.support.paths import ROOT

FOLDER = ROOT / "docs" / "example-runs"
# What the median Pay takes in each run.
RUNS = {"before": 220.0, "after": 275.0}
_HEAD = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,"
    "grpThreads,allThreads,Latency,IdleTime,Connect"
)
_START_MS = 1_767_258_000_000
_USERS, _RAMP_S, _DURATION_S, _THINK_S = 20, 5.0, 180.0, 1.0
_LABELS = ("Home", "Search", "Pay")
_SIGMA = 0.35
# Every half minute the search reads its index again.
_PERIOD_S, _BUSY_S, _FACTOR = 30, 2, 4.0


def text_of(name: str) -> str:
    """Return the JTL of a run: each of 20 users opens Home, searches and pays, for three minutes."""
    random = Random(len(name))
    medians_ms = dict(zip(_LABELS, (45.0, 110.0, RUNS[name]), strict=True))
    return "\n".join([_HEAD, *(row for _, row in sorted(_rows(random, medians_ms))), ""])


def _rows(random: Random, medians_ms: dict[str, float]) -> Iterator[tuple[float, str]]:
    """Yield the end (s) and the row of each sample."""
    due = [(_RAMP_S * user / _USERS, user, 0) for user in range(_USERS)]
    while due:
        start_s, user, step = heapq.heappop(due)
        if start_s >= _DURATION_S:
            continue
        label = _LABELS[step % len(_LABELS)]
        elapsed_ms = medians_ms[label] * random.lognormvariate(0, _SIGMA)
        if label == "Search" and start_s % _PERIOD_S < _BUSY_S:
            elapsed_ms *= _FACTOR
        end_s = start_s + elapsed_ms / 1000
        answer = "200,OK" if label != "Pay" else "201,Created"
        is_declined = label == "Pay" and random.random() < 0.01
        outcome = "402,Payment Required" if is_declined else answer
        success = "false,card declined" if is_declined else "true,"
        users = min(_USERS, 1 + int(start_s / _RAMP_S * _USERS))
        yield (
            end_s,
            f"{_START_MS + round(start_s * 1000)},{round(elapsed_ms)},{label},{outcome},Users 1-{user + 1},text,"
            f"{success},{1800 + step % 7},{240 + len(label)},{users},{users},{max(0, round(elapsed_ms) - 2)},0,0",
        )
        heapq.heappush(due, (end_s + _THINK_S * random.uniform(0.5, 1.5), user, step + 1))


def path_of(name: str) -> Path:
    """Return the packed JTL of a run."""
    return FOLDER / f"{name}.jtl.gz"


if __name__ == "__main__":
    for run in RUNS:
        path_of(run).write_bytes(gzip.compress(text_of(run).encode(), mtime=0))
