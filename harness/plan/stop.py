"""The conditions that end a run early: a plan's [stop] table, or STOP on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from harness.base import units
from harness.base.config import within
from harness.base.errors import UsageError
from harness.metrics.metric import THROUGHPUT, metric_of, parse_metric, stop_metrics
from harness.plan.goal import limit_text, metric_text
from harness.plan.goal_input import parse_limit

# On the command line: no condition, even if the plan has some.
NONE = "none"
_FOR_MAX_S = 86_400.0
_EXAMPLE = "write errors>50% for 10s, p90>5s for 30s or throughput<10/s for 1m"
_CONDITION = re.compile(r"\s*([\w.]+)\s*([<>])=?\s*([^<>]*?)\s+for\s+(.*\S)\s*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class StopRule:
    """A run ends early when a metric of the load is beyond `limit` for `for_s` seconds.

    `metric` is the key of a metric. Errors and times are beyond a limit that they exceed, throughput is beyond one that
    it does not reach.
    """

    metric: str
    limit: float
    for_s: float

    @property
    def text(self) -> str:
        """The condition as text: `errors above 50 % for 10 s`."""
        metric = metric_of(self.metric)
        side = "below" if self.metric == THROUGHPUT.key else "above"
        limit = limit_text(metric, self.limit)
        return f"{metric_text(metric)} {side} {limit} for {units.duration_text(self.for_s)}"


def parse_stop(text: str) -> tuple[StopRule, ...]:
    """Return the conditions of a text, with commas between them; `none` is no condition. UsageError for others."""
    if text.strip().lower() == NONE:
        return ()
    return tuple(_rule(part, f"--stop={text}") for part in text.split(","))


def read_stop(table: Mapping[str, object], where: str) -> tuple[StopRule, ...]:
    """Return the conditions of a [stop] table: by metric, such as errors = ">50% for 10s"."""
    rules = []
    for key, value in table.items():
        parse_metric(key, where, stop_metrics())
        if not isinstance(value, str):
            raise UsageError(f"{where}: {key} = {value!r}", 'give a text, such as errors = ">50% for 10s"')
        rules.append(_rule(f"{key} {value}", where))
    return tuple(rules)


def _rule(part: str, where: str) -> StopRule:
    match = _CONDITION.fullmatch(part)
    if match is None:
        raise UsageError(f"{where}: {part.strip() or 'an empty text'} is no condition", _EXAMPLE)
    name, sign, limit, duration = match.groups()
    metric = parse_metric(name.lower(), f"{where}:", stop_metrics())
    expected = "<" if metric == THROUGHPUT else ">"
    if sign != expected:
        raise UsageError(f"{where}: {part.strip()} has the wrong sign", f"write {metric_text(metric)}{expected}…")
    for_s = units.parse_duration_s(duration, f"{where}: for")
    within(for_s, 1, _FOR_MAX_S, where, "for")
    return StopRule(metric.key, parse_limit(metric, limit, f"{where}: {metric_text(metric)}"), for_s)
