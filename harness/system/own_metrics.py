"""The metrics that a process of a system publishes itself, such as the use of its connection pools, within the window.

Read from own-metrics-<process>.jsonl: a line with the metrics of the manifest, then a line per answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from math import isfinite
from statistics import fmean
from typing import Any

from harness.base.units import MS_PER_S
from harness.system.system import Manifest, MetricsSource, OwnMetric

_ANY = "*"
# When it came (epoch ms), and the value of each metric.
_Answer = tuple[int, Sequence[float | None]]


def sources_elsewhere(manifest: Manifest, target: str) -> dict[str, MetricsSource]:
    """Return where the processes of a system that runs elsewhere publish their metrics: below its address.

    Addresses that the manifest has outside of its own target are not known there.
    """
    here = manifest.target.rstrip("/") + "/"
    given = {one.name: one.metrics for one in manifest.processes}
    return {
        process: replace(found, url=f"{target.rstrip('/')}/{found.url.removeprefix(here)}")
        for process, found in given.items()
        if found and found.url.startswith(here)
    }


@dataclass(frozen=True)
class OwnMetricUse:
    """One metric in the window: of a level the mean of the answers, the smallest and the largest.

    Of a total `mean` is its growth per second, and `growth` that between the first and the last answer. `unit` is ""
    for a number of something.
    """

    name: str
    unit: str
    mean: float
    minimum: float | None = None
    maximum: float | None = None
    growth: float | None = None


@dataclass(frozen=True)
class OwnMetrics:
    """What a process published in the window; without an answer in it there are no metrics."""

    process: str
    answer_count: int
    metrics: tuple[OwnMetricUse, ...]


def values_of(document: object, metrics: Iterable[OwnMetric]) -> list[float | None]:
    """Return the value of each metric in a document that the process published; None for one that it does not have."""
    return [_sum_at(document, metric.path) for metric in metrics]


def _sum_at(document: object, path: Sequence[str]) -> float | None:
    """Return the sum of the numbers at a path; `*` in a key matches any text."""
    if not path:
        if isinstance(document, bool) or not isinstance(document, int | float):
            return None
        return document if isfinite(document) else None
    if not isinstance(document, Mapping):
        return None
    key, rest = path[0], path[1:]
    names = [name for name in document if fnmatchcase(name, key)] if _ANY in key else [key]
    found = [_sum_at(document[name], rest) for name in names if name in document]
    known = [value for value in found if value is not None]
    return sum(known) if known else None


def head_line(metrics: Sequence[OwnMetric]) -> str:
    """Return the first line of the file: which metrics the values of an answer are."""
    names = [{"name": one.name, "unit": one.unit, "is_total": one.is_total} for one in metrics]
    return json.dumps({"metrics": names}, ensure_ascii=False) + "\n"


def answer_line(time_ms: int, values: Sequence[float | None]) -> str:
    """Return the line of an answer."""
    return json.dumps({"time_ms": time_ms, "values": values}) + "\n"


def read_own_metrics(process: str, lines: Iterable[str], first_ms: int, last_ms: int) -> OwnMetrics:
    """Return the metrics of a process between two instants (epoch ms), both included; an incomplete line is skipped."""
    metrics: list[OwnMetric] = []
    answers: list[_Answer] = []
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):
            read: dict[str, Any] = json.loads(line)
            if "metrics" in read:
                metrics = [OwnMetric(one["name"], (), one["unit"], one["is_total"]) for one in read["metrics"]]
            elif first_ms <= read["time_ms"] <= last_ms:
                answers.append((read["time_ms"], read["values"]))
    return OwnMetrics(process, len(answers), tuple(_uses(metrics, answers)))


def _uses(metrics: Sequence[OwnMetric], answers: Sequence[_Answer]) -> Iterator[OwnMetricUse]:
    for index, metric in enumerate(metrics):
        found = [(time_ms, value) for time_ms, values in answers if (value := values[index]) is not None]
        use = (_total if metric.is_total else _level)(metric, found)
        if use:
            yield use


def _level(metric: OwnMetric, answers: Sequence[tuple[int, float]]) -> OwnMetricUse | None:
    if not answers:
        return None
    values = [value for _, value in answers]
    return OwnMetricUse(metric.name, metric.unit, round(fmean(values), 4), min(values), max(values))


def _total(metric: OwnMetric, answers: Sequence[tuple[int, float]]) -> OwnMetricUse | None:
    """Return the growth of a total; None with fewer than two answers, or when the process began to count again."""
    if len(answers) < 2:
        return None
    (first_ms, first), (last_ms, last) = answers[0], answers[-1]
    if last < first or last_ms == first_ms:
        return None
    growth = round(last - first, 4)
    return OwnMetricUse(metric.name, metric.unit, round(growth * MS_PER_S / (last_ms - first_ms), 4), growth=growth)
