"""Reads Performance Insights: what the sessions of an RDS instance wait for, and its statements with the most load.

API reference of Performance Insights, 2018-02-27. The names of the statistics per statement are those of the engine
(Amazon RDS and Aurora user guides, "SQL statistics"); times per call are in ms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from harness.base import aws
from harness.base.errors import HarnessError, ServiceError, UnavailableError
from harness.cloudwatch.listing import filtered_pages
from harness.cloudwatch.points import counted_starts
from harness.cloudwatch.queries import KIND_TITLES, RDS, CloudWatchSpec, PeriodSpan, whole_periods
from harness.cloudwatch.services import DatabaseLoad, Missing, Services, SessionWait, Sql
from harness.metrics.downsampling import SERIES_POINTS_MOST
from harness.metrics.window import Window

TITLE = "Performance Insights"
_LOAD, _WAITS, _SQL = "db.load.avg", "db.wait_event", "db.sql_tokenized"
_PERIODS_S = (60, 300, 3600, 86_400)
_LISTED_MOST = 10
_PAGES_MOST = 100
_TEXT_MOST = 200
_DIGITS = 6


class _Statistics(NamedTuple):
    """What an engine calls calls per second, and the time of a call."""

    calls: str
    ms_per_call: str


_OF_POSTGRES = _Statistics(f"{_SQL}.stats.calls_per_sec.avg", f"{_SQL}.stats.avg_latency_per_call.avg")
_OF_MYSQL = _Statistics(f"{_SQL}.stats.count_star_per_sec.avg", f"{_SQL}.stats.sum_timer_wait_per_call.avg")
_STATISTICS = {
    "postgres": _OF_POSTGRES, "aurora-postgresql": _OF_POSTGRES,
    "mysql": _OF_MYSQL, "mariadb": _OF_MYSQL, "aurora-mysql": _OF_MYSQL,
}  # fmt: skip
_QUOTE = re.compile("['\"]")
# What a statement has apart from names and signs; each may be cut at the end.
_PART = re.compile(
    r"""(?P<comment>/\*.*?(?:\*/|\Z)|--[^\n]*)|(?P<text>'(?:[^']|'')*(?:'|\Z)|\$(?P<tag>(?:[A-Za-z_]\w*)?)\$.*?"""
    r"""(?:\$(?P=tag)\$|\Z))|(?P<quoted>"(?:[^"]|"")*(?:"|\Z))|(?P<number>(?<![\w$.])\d[\w.]*)""",
    re.DOTALL,
)


def read_insights(spec: CloudWatchSpec, origin_s: int, window: Window) -> Services:
    """Return the load of the RDS instances of a profile in a run, whose load began at `origin_s` (s since 1970).

    What fails is missing, and the rest is read.
    """
    names = [resource.name for resource in spec.resources if resource.kind == RDS]
    if not names:
        return Services()
    try:
        pages = filtered_pages(RDS, spec, "describe_db_instances", "db-instance-id", names)
        instances = {one["DBInstanceIdentifier"]: one for page in pages for one in page["DBInstances"]}
    except HarnessError as error:
        return Services((replace(Missing.of(error, KIND_TITLES[RDS], ", ".join(names)), source=TITLE),))
    missing: list[Missing] = []
    databases: list[DatabaseLoad] = []
    for name in names:
        instance = instances.get(name)
        if instance is None:
            missing.append(Missing(TITLE, name, "RDS has no instance of this name"))
        elif instance.get("PerformanceInsightsEnabled") is False:
            missing.append(Missing(TITLE, name, "it is off: switch it on in the settings of the instance"))
        else:
            database = _Database(spec, instance, origin_s, window).read()
            missing += database.missing
            databases += database.databases
    return Services(tuple(missing), (), tuple(databases))


class _Database:
    """Reads the load of one instance."""

    def __init__(self, spec: CloudWatchSpec, instance: Mapping[str, Any], origin_s: int, window: Window) -> None:
        self._spec, self._instance, self._origin_s = spec, instance, origin_s
        self._name: str = instance["DBInstanceIdentifier"]
        period_s = next((one for one in _PERIODS_S if window.run_s <= SERIES_POINTS_MOST * one), _PERIODS_S[-1])
        self._span = whole_periods(origin_s, origin_s + window.run_s, period_s)
        counted = counted_starts(self._span, origin_s + window.from_s, origin_s + window.to_s).starts_s
        self._window = PeriodSpan(counted[0], counted[-1] + period_s, period_s) if counted else self._span
        self._missing: list[Missing] = []

    def read(self) -> Services:
        """Return the load, with what is missing of it."""
        group = {"Group": _WAITS, "Limit": _LISTED_MOST}
        keys = self._tried(lambda: self._keys(group)) or []
        series = self._tried(lambda: self._series(group))
        if series is not None:
            self._name_late(series.get("", {}))
        series = series or {}
        waits, sql = self._waits(keys, series), self._statements()
        from_s = self._span.from_s - self._origin_s
        is_known = bool(waits or sql or series.get(""))  # of a sleeping database only the load of 0 is
        found = DatabaseLoad(self._name, from_s, self._span.period_s, waits, sql) if is_known else None
        # A right or a server that is missing is missing for several calls.
        return Services(tuple(dict.fromkeys(self._missing)), (), (found,) if found else ())

    def _waits(
        self, keys: Sequence[Mapping[str, Any]], series: Mapping[str, Mapping[int, float]]
    ) -> tuple[SessionWait, ...]:
        """Return the waits with the most sessions; without keys, those of the series, whose averages are not known."""
        averages = {_wait_name(key["Dimensions"]): _known(key.get("Total")) for key in keys}
        names = averages or dict.fromkeys(name for name in series if name)
        return tuple(
            SessionWait(name, average, tuple(series.get(name, {}).get(start) for start in self._span.starts_s))
            for name, average in names.items()
        )

    def _name_late(self, load: Mapping[int, float]) -> None:
        """Add what is missing at the end: a sleeping database has a load of 0, so no value means not published yet."""
        starts = list(self._window.starts_s)
        late = len(starts) - 1 - max((index for index, start in enumerate(starts) if start in load), default=-1)
        if late:
            what = f"no value yet for the last {late} of {len(starts)} periods of {self._span.period_s} s"
            self._missing.append(Missing(TITLE, self._name, what))

    def _statements(self) -> tuple[Sql, ...]:
        group = {"Group": _SQL, "Limit": _LISTED_MOST}
        engine = str(self._instance.get("Engine", ""))
        statistics = _STATISTICS.get(engine)
        if statistics is None:
            what = f"calls and time per call of statements: not known of the engine {engine or 'without a name'}"
            self._missing.append(Missing(TITLE, self._name, what))
            keys = self._tried(lambda: self._keys(group))
        else:
            keys = self._tried(lambda: self._keys_with(group, statistics))
        return tuple(_statement(key, statistics) for key in keys or ())

    def _keys_with(self, group: Mapping[str, Any], statistics: _Statistics) -> list[Mapping[str, Any]]:
        """Return the statements with their statistics, or without if the instance does not have these."""
        try:
            return self._keys(group, AdditionalMetrics=list(statistics))
        except UnavailableError:
            raise
        except ServiceError as error:
            keys = self._keys(group)
            what = f"calls and time per call of statements: {error.what.removeprefix(f'{TITLE}: ')}"
            self._missing.append(Missing(TITLE, self._name, what))
            return keys

    def _tried(self, read: Any) -> Any:
        try:
            return read()
        except HarnessError as error:
            missing = Missing.of(error, TITLE, self._name)
            if isinstance(error, ServiceError) and not isinstance(error, UnavailableError):
                missing = replace(missing, reason=f"{missing.reason}: the instance may not keep its load for so long")
            self._missing.append(missing)
            return None

    def _keys(self, group: Mapping[str, Any], **more: Any) -> list[Mapping[str, Any]]:
        request = {"Metric": _LOAD, "GroupBy": group, "PeriodInSeconds": self._window.period_s, **more}
        pages = self._pages("describe_dimension_keys", self._window, request)
        return [key for page in pages for key in page["Keys"]][:_LISTED_MOST]

    def _series(self, group: Mapping[str, Any]) -> dict[str, dict[int, float]]:
        """Return active sessions by wait and start of the period (s since 1970); those of all sessions are under ""."""
        queries = [{"Metric": _LOAD}, {"Metric": _LOAD, "GroupBy": group}]
        more = {"MetricQueries": queries, "PeriodInSeconds": self._span.period_s, "PeriodAlignment": "START_TIME"}
        points: dict[str, dict[int, float]] = {}
        for page in self._pages("get_resource_metrics", self._span, more):
            for one in page["MetricList"]:
                values = points.setdefault(_wait_name(one["Key"].get("Dimensions", {})), {})
                for point in one["DataPoints"]:
                    if (value := _known(point.get("Value"))) is not None:
                        values[int(point["Timestamp"].timestamp())] = value
        return points

    def _pages(self, operation: str, span: PeriodSpan, more: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        client = aws.client("pi", self._spec.endpoint_url, self._spec.region)
        request = {
            "ServiceType": "RDS",
            "Identifier": self._instance["DbiResourceId"],
            "StartTime": datetime.fromtimestamp(span.from_s, UTC),
            "EndTime": datetime.fromtimestamp(span.to_s, UTC),
            **more,
        }
        with aws.aws_errors(TITLE):
            for _ in range(_PAGES_MOST):
                page = getattr(client, operation)(**request)
                yield page
                if not page.get("NextToken"):
                    return
                request["NextToken"] = page["NextToken"]


def _wait_name(dimensions: Mapping[str, str]) -> str:
    """Return the name of a wait event with its type in front, such as IO:DataFileRead; CPU alone is CPU."""
    name, kind = dimensions.get(f"{_WAITS}.name", ""), dimensions.get(f"{_WAITS}.type", "")
    return name if not kind or name.casefold().startswith(kind.casefold()) else f"{kind}:{name}"


def _known(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, _DIGITS)


def _statement(key: Mapping[str, Any], statistics: _Statistics | None) -> Sql:
    dimensions, more = key["Dimensions"], key.get("AdditionalMetrics", {})
    calls, ms_per_call = (_known(more.get(one)) for one in statistics) if statistics else (None, None)
    text = without_literals(dimensions.get(f"{_SQL}.statement", ""), are_quoted_names=statistics is _OF_POSTGRES)
    return Sql(dimensions.get(f"{_SQL}.id", ""), text, _known(key.get("Total")), calls, ms_per_call)


def without_literals(sql: str, *, are_quoted_names: bool = True) -> str:
    """Return a statement on one line, at most 200 characters long, with ? for each literal and without comments.

    Engines do not replace the literals of all statements, such as ALTER USER … PASSWORD '…'. Performance Insights cuts
    a statement at 500 bytes, perhaps within a literal. Double quotes are around names, in MySQL around texts. A
    backslash may hide the end of a text: then everything from the first quote on is left out.
    """
    if "\\" in sql:
        sql = _QUOTE.split(sql, maxsplit=1)[0] + " '"

    def shown(part: re.Match[str]) -> str:
        if part["comment"] is not None:
            return " "
        return part[0] if part["quoted"] is not None and are_quoted_names else "?"

    text = " ".join(_PART.sub(shown, sql).split())
    return text if len(text) <= _TEXT_MOST else f"{text[: _TEXT_MOST - 1]}…"
