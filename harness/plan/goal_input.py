"""Reads goals from a plan's TOML tables and from the command line: `p95<1500, errors<1%, Check-Out: p99<3s`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from harness.base import units
from harness.base.config import NUMBER, check_keys, within
from harness.base.errors import UsageError
from harness.metrics.figures import TOTAL
from harness.metrics.metric import ERRORS, Metric, all_metrics, parse_metric
from harness.plan.goal import EACH_AVERAGE, Goal, GoalRule, limit_keys, metric_text, option_metrics

# The option with any goals as text.
GOAL_OPTION = "goal"
_TIME_MAX_MS = 3_600_000
_LIMIT_MAX = 1_000_000_000
_EXAMPLE = "write conditions such as p95<1500, errors<1%, Check-Out: p99<3s, throughput>100/s"
# A condition: a metric, a sign and a value, after a label in quotes or up to the last colon before the metric.
_CONDITION = re.compile(
    r'\s*(?:(?:"(?P<quoted>[^"]*)"|(?P<label>.*\S))\s*:)??\s*(?P<metric>(?:first\s+byte\s+|connect\s+|longest\s+)?[\w.]+|messages\s+sent)\s*(?P<sign><=?|>=?)\s*(?P<value>[^<>]*?)\s*',
    re.DOTALL | re.IGNORECASE,
)
_PARTS = re.compile(r'(?:"[^"]*"|[^,"]|"(?=[^"]*$))+')
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|)")
_MS_PER = {"ms": 1, "": 1, "s": 1000, "m": 60_000, "min": 60_000}
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:(?P<what>[a-z ]*)/s)?")


def parse_goal(text: str, where: str) -> Goal:
    """Return the goals of a text: conditions with commas between them, each of TOTAL or of `label:`.

    `<` and `<=` both mean at most, `>` and `>=` at least. A label is a label or a regular expression; one with a comma
    is put in double quotes, and one that is TOTAL, too. UsageError, which begins with `where`, for anything else.
    """
    rules = [_condition(part, f"{where}={text}") for part in _PARTS.findall(text) if part.strip()]
    if not rules:
        raise UsageError(f"{where}={text}: has no condition", _EXAMPLE)
    return Goal.of(rules, f"{where}={text}")


def _condition(part: str, where: str) -> GoalRule:
    match = _CONDITION.fullmatch(part)
    if match is None:
        raise UsageError(f"{where}: {part.strip()} is no condition", _EXAMPLE)
    label = match["quoted"] if match["quoted"] is not None else _none_if_total(match["label"])
    metric = parse_metric(" ".join(match["metric"].lower().split()), f"{where}:", all_metrics())
    if not match["value"]:
        raise UsageError(f"{where}: {match['metric']} has no limit", _EXAMPLE)
    limit = parse_limit(metric, match["value"], f"{where}: {metric_text(metric)}")
    return GoalRule(metric.key, label, **{"max" if match["sign"].startswith("<") else "min": limit})


def _none_if_total(label: str | None) -> str | None:
    """Return None, which means TOTAL, for the name that reports print for it."""
    return None if label == TOTAL else label


def parse_limit(metric: Metric, text: str, name: str) -> float:
    """Return a limit in the metric's unit: of times ms (1500, 1500ms, 1.5s), of errors a ratio (1%), of rates 1/s."""
    if metric.is_share and not text.strip().endswith("%"):
        raise UsageError(f"{name} {text}: has no % sign", "write 1% for one in a hundred")
    if metric.is_share:
        return units.parse_percent_ratio(text, name)
    match = (_TIME if metric.is_time else _RATE).fullmatch(text.strip().lower())
    limit = float(match[1]) * (_MS_PER[match[2]] if metric.is_time else 1) if match else 0.0
    is_other = not metric.is_time and match is not None and (match["what"] or "") not in ("", metric.unit[:-2])
    if is_other or not 0 < limit <= _LIMIT_MAX:
        example = "1500, 1500ms or 1.5s" if metric.is_time else "100 or 100/s"
        raise UsageError(f"{name} {text}: not a {'time' if metric.is_time else 'rate'}", f"give one such as {example}")
    return int(limit) if limit.is_integer() else limit


def read_goal(data: object, where: str) -> Goal:
    """Return the goals of a plan's [goal] table or [[goal]] tables; UsageError names the wrong key.

    A table has the limits of TOTAL by key (p95_ms = 1500), or of a `label`; or `metric` with `max` or `min`.
    """
    if isinstance(data, Mapping):
        return Goal(**dict(_limits(data, f"{where} [goal]")))
    rules: list[GoalRule] = []
    each_ms: float | None = None
    for table in data if isinstance(data, list) else [data]:
        if not isinstance(table, dict):
            raise UsageError(f"{where} goal: {table!r}", "write each goal as [[goal]] with its keys below")
        if "metric" in table:
            rules.append(_rule(table, f"{where} [[goal]]"))
        elif "label" in table:
            rules += _rules_of_label(table, f"{where} [[goal]]")
        else:
            limits = Goal(**dict(_limits(table, f"{where} [[goal]]"))).limits
            rules += [GoalRule(key, max=limit) for key, limit in limits.items() if key != EACH_AVERAGE]
            each_ms = limits.get(EACH_AVERAGE, each_ms)
    return Goal.of(rules, f"{where} [[goal]]", each_ms)


def _limits(table: Mapping[str, Any], where: str) -> Iterator[tuple[str, float]]:
    check_keys(table, {**dict.fromkeys(limit_keys(), int), ERRORS.key: NUMBER}, where)
    for key, value in table.items():
        least, most = (0, 1) if key == ERRORS.key else (1, _LIMIT_MAX)
        within(value, least, most, where, key)
        yield key, float(value) if key == ERRORS.key else value


def _rules_of_label(table: Mapping[str, Any], where: str) -> Iterator[GoalRule]:
    keys = {key: value for key, value in table.items() if key != "label"}
    label = _label(table, where)
    if EACH_AVERAGE in keys:
        raise UsageError(f"{where} {label}: {EACH_AVERAGE} is for all labels", "write average_ms for this one")
    if not keys:
        raise UsageError(f"{where} {label}: has no limit", "add one, such as p95_ms = 1500 or error_ratio = 0.01")
    yield from (GoalRule(key, label, max=limit) for key, limit in _limits(keys, f"{where} {label}"))


def _rule(table: Mapping[str, Any], where: str) -> GoalRule:
    """Return the limit of a table with metric and max or min; a text has a unit, as on the command line."""
    limit = (int, float, str)
    check_keys(table, {"label": str, "metric": str, "max": limit, "min": limit}, where)
    metric = parse_metric(table["metric"], f"{where} metric", all_metrics())
    where = f"{where} {metric_text(metric)}"
    bounds = [name for name in ("max", "min") if name in table]
    if len(bounds) != 1:
        raise UsageError(f"{where}: {'both max and min' if bounds else 'neither max nor min'}", "give one of them")
    value = table[bounds[0]]
    if isinstance(value, str):
        value = parse_limit(metric, value, f"{where}: {bounds[0]}")
    within(value, 0, 1 if metric.is_share else _LIMIT_MAX, where, bounds[0])
    return GoalRule(metric.key, _label(table, where), **{bounds[0]: value})


def _label(table: Mapping[str, Any], where: str) -> str | None:
    label = table.get("label")
    if label is not None and (not isinstance(label, str) or not label.strip()):
        raise UsageError(f"{where}: label = {label!r}", "give a label or a regular expression")
    return _none_if_total(label)


def resolve_goal(given: Mapping[str, str | None], default: Goal) -> Goal:
    """Return the goal in the texts of a command line or a suite, by metric name; any goals as text are `goal`.

    Given times or a text replace the default, except its limit of TOTAL's errors, which stays unless errors are given.
    """
    times = {
        metric.key: units.parse_whole_number(text, f"--{metric.name}", 1, _TIME_MAX_MS)
        for metric in option_metrics()
        if metric.is_time and (text := given.get(metric.name))
    }
    errors, text = given.get(ERRORS.name), given.get(GOAL_OPTION)
    goal = parse_goal(text, f"--{GOAL_OPTION}") if text else Goal()
    limits: dict[str, float] = dict(times)
    if errors:
        limits[ERRORS.key] = units.parse_percent_ratio(errors, f"--{ERRORS.name}")
    for metric in option_metrics():
        if metric.key in goal.limits and metric.key in limits:
            raise UsageError(f"--goal={text} and --{metric.name} both limit {metric.name}", "give one of them")
    if not times and not text:
        return default.with_limits(**limits) if limits else default
    if goal.error_ratio is None:
        limits = {ERRORS.key: default.error_ratio, **limits} if default.error_ratio is not None else limits
    return goal.with_limits(**limits)


def goal_names() -> tuple[str, ...]:
    """Return the names of the options of goals: goal, p90, average, errors."""
    return (GOAL_OPTION, *(metric.name for metric in option_metrics()))
