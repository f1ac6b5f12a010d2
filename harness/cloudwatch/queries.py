"""Defines the CloudWatch queries of a profile: services, databases and machines, and their metrics.

The limits are those of GetMetricData (CloudWatch API reference, 2010-08-01): 500 queries and 100,800 data points per
call. Periods below one minute are available for 3 hours, one minute for 15 days, five minutes for 63 days.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from harness.base.config import check_keys, texts
from harness.base.errors import UsageError
from harness.cloudwatch.source import Resource
from harness.metrics.downsampling import chunks

# EBS volumes are not listed in a profile: they are those of its EC2 instances.
ECS, RDS, EC2, EBS = "ecs", "rds", "ec2", "ebs"
KIND_TITLES = {ECS: "ECS", RDS: "RDS", EC2: "EC2", EBS: "EBS"}
CPU, MEMORY, FREE_MEMORY, CONNECTIONS = "cpu_ratio", "memory_ratio", "free_memory_bytes", "connection_count"
# Balances of a budget: CPU credits of burstable instances, and I/O credits of gp2 volumes.
CPU_CREDITS, BURST = "cpu_credit_count", "burst_balance_ratio"
AVERAGE, MINIMUM, MAXIMUM = "average", "minimum", "maximum"
STATISTICS = (AVERAGE, MINIMUM, MAXIMUM)
QUERIES_PER_CALL = 500
POINTS_PER_CALL = 100_800
PERIOD_S = 60
_SHORT_PERIODS_S = (1, 5, 10, 30)
_PERIOD_MAX_S = 3600
# For data of this age (s), CloudWatch has no shorter period than this (s).
_RETENTION = ((63 * 86_400, 3600), (15 * 86_400, 300), (3 * 3600, 60))
_PERCENT = 0.01


# What the names of resources look like, and its description for a message.
_NAMES = {
    ECS: (re.compile(r"[\w-]{1,255}/[\w-]{1,255}"), "cluster/service"),
    RDS: (re.compile(r"[A-Za-z][A-Za-z0-9-]{0,62}"), "the identifier of a database instance"),
    EC2: (re.compile(r"i-[0-9a-f]{8,17}"), "the id of an instance, such as i-0123456789abcdef0"),
}


def dimensions_of(resource: Resource) -> Mapping[str, str]:
    """Return the dimensions that identify a resource in CloudWatch.

    It is an ECS service (cluster/service), an RDS or EC2 instance, or a volume (instance/volume).
    """
    if resource.kind == ECS:
        cluster, _, service = resource.name.partition("/")
        return {"ClusterName": cluster, "ServiceName": service}
    if resource.kind == EBS:
        return {"VolumeId": resource.name.partition("/")[2]}
    return {"DBInstanceIdentifier" if resource.kind == RDS else "InstanceId": resource.name}


@dataclass(frozen=True)
class Metric:
    """A metric: our name, which contains the unit, CloudWatch's names, and the factor from its unit to ours.

    One that is not `is_everywhere` exists only for some resources of the kind, every five minutes: without values it is
    left out.
    """

    name: str
    namespace: str
    metric_name: str
    factor: float = 1.0
    is_everywhere: bool = True


METRICS = {
    ECS: (Metric(CPU, "AWS/ECS", "CPUUtilization", _PERCENT), Metric(MEMORY, "AWS/ECS", "MemoryUtilization", _PERCENT)),
    RDS: (
        Metric(CPU, "AWS/RDS", "CPUUtilization", _PERCENT),
        # Memory in use would need the size of the instance class, which CloudWatch does not know.
        Metric(FREE_MEMORY, "AWS/RDS", "FreeableMemory"),
        Metric(CONNECTIONS, "AWS/RDS", "DatabaseConnections"),
        Metric(CPU_CREDITS, "AWS/RDS", "CPUCreditBalance", is_everywhere=False),
        Metric(BURST, "AWS/RDS", "BurstBalance", _PERCENT, is_everywhere=False),
    ),
    EC2: (
        Metric(CPU, "AWS/EC2", "CPUUtilization", _PERCENT),
        # EC2 cannot see memory: the CloudWatch agent on the machine publishes this metric.
        Metric(MEMORY, "CWAgent", "mem_used_percent", _PERCENT),
        Metric(CPU_CREDITS, "AWS/EC2", "CPUCreditBalance", is_everywhere=False),
    ),
    EBS: (Metric(BURST, "AWS/EBS", "BurstBalance", _PERCENT, is_everywhere=False),),
}


@dataclass(frozen=True)
class CloudWatchSpec:
    """What [cloudwatch] requests: the resources and the server. A region of None means that of boto3's settings."""

    region: str | None
    endpoint_url: str | None
    period_s: int
    resources: tuple[Resource, ...]


@dataclass(frozen=True)
class Query:
    """One statistic of one metric of one resource; `id` identifies it in the answer."""

    id: str
    resource: Resource
    metric: Metric
    statistic: str

    def to_request(self, period_s: int) -> dict[str, Any]:
        """Return the query in the form of GetMetricData."""
        dimensions = [{"Name": name, "Value": value} for name, value in dimensions_of(self.resource).items()]
        metric = {"Namespace": self.metric.namespace, "MetricName": self.metric.metric_name, "Dimensions": dimensions}
        return {"Id": self.id, "MetricStat": {"Metric": metric, "Period": period_s, "Stat": self.statistic.title()}}


@dataclass(frozen=True)
class Span:
    """Consecutive whole periods: `from_s` ≤ t < `to_s`, s since 1970."""

    from_s: int
    to_s: int
    period_s: int

    @property
    def starts_s(self) -> range:
        """Return the first second of each period."""
        return range(self.from_s, self.to_s, self.period_s)


def parse_cloudwatch(table: Mapping[str, Any], where: str) -> CloudWatchSpec:
    """Return the spec of a profile's [cloudwatch]. UsageError for values that CloudWatch cannot have."""
    keys = {"region": str, "endpoint_url": str, "period_s": int, ECS: list, RDS: list, EC2: list}
    check_keys(table, keys, where)
    services = _ecs_names(table.get(ECS, []), f"{where} {ECS}")
    names = {ECS: services, **{kind: texts(table.get(kind, []), f"{where} {kind}") for kind in (RDS, EC2)}}
    resources = [Resource(kind, name) for kind, found in names.items() for name in found]
    for resource in resources:
        pattern, text = _NAMES[resource.kind]
        if not pattern.fullmatch(resource.name):
            raise UsageError(f"{where}: {resource.kind} {resource.name!r} is not a valid name", f"give {text}")
        if resources.count(resource) > 1:
            raise UsageError(f"{where}: {resource.kind} {resource.name} occurs twice", "name each once")
    if not resources:
        raise UsageError(f"{where}: nothing to watch", f"list services or instances in {ECS}, {RDS} or {EC2}")
    return CloudWatchSpec(
        region=_region(table.get("region"), where),
        endpoint_url=_endpoint(table.get("endpoint_url"), where),
        period_s=_period_s(table.get("period_s", PERIOD_S), where),
        resources=tuple(resources),
    )


def _ecs_names(entries: Sequence[object], where: str) -> tuple[str, ...]:
    """Return cluster/service of each entry: such a text, or a table of a cluster with its services."""
    names: list[str] = []
    for entry in entries:
        if isinstance(entry, Mapping):
            check_keys(entry, {"cluster": str, "services": list}, where)
            if not entry.get("cluster") or not entry.get("services"):
                raise UsageError(f"{where}: {dict(entry)!r}", 'give { cluster = "…", services = ["…"] }')
            names += [f"{entry['cluster']}/{service}" for service in texts(entry["services"], where)]
        else:
            names += texts([entry], where)
    return tuple(names)


def _region(region: str | None, where: str) -> str | None:
    if region is not None and not re.fullmatch(r"[a-z]{2}(-[a-z]+)+-\d", region):
        raise UsageError(f"{where}: region = {region!r}", "give one such as eu-central-1")
    return region


def _endpoint(url: str | None, where: str) -> str | None:
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        is_address = is_address and not parts.query and (parts.port is None or parts.port > 0)
    except ValueError:
        is_address = False
    if not is_address:
        # Not repeated in the message: it may contain a password.
        raise UsageError(f"{where}: endpoint_url is not an address", "give http://host:port, without user and password")
    return url


def _period_s(period_s: int, where: str) -> int:
    if period_s not in _SHORT_PERIODS_S and not (period_s % 60 == 0 and 0 < period_s <= _PERIOD_MAX_S):
        short = ", ".join(map(str, _SHORT_PERIODS_S))
        what = f"{where}: period_s = {period_s}"
        raise UsageError(what, f"give a multiple of 60 up to {_PERIOD_MAX_S}; for metrics of high resolution {short}")
    return period_s


def available_period_s(requested_s: int, age_s: float) -> int:
    """Return the shortest period (s), at least the requested one, that CloudWatch has for data of this age (s)."""
    least_s = next((period_s for age_from_s, period_s in _RETENTION if age_s > age_from_s), 1)
    return requested_s if least_s == 1 else math.ceil(requested_s / least_s) * least_s


def whole_periods(from_s: float, to_s: float, period_s: int) -> Span:
    """Return the whole periods that cover an interval (s since 1970)."""
    return Span(math.floor(from_s / period_s) * period_s, math.ceil(to_s / period_s) * period_s, period_s)


def queries_of(spec: CloudWatchSpec) -> tuple[Query, ...]:
    """Return the queries of all watched resources."""
    metrics = ((resource, metric) for resource in spec.resources for metric in METRICS[resource.kind])
    found = ((*of, statistic) for of in metrics for statistic in STATISTICS)
    return tuple(Query(f"q{number}", *of) for number, of in enumerate(found))


def calls_of(queries: Sequence[Query], period_count: int) -> Iterator[Sequence[Query]]:
    """Return the queries of each call, within the call's limits.

    A query with more data points than a call may return gets its own call and is answered in pages.
    """
    size = max(1, min(QUERIES_PER_CALL, POINTS_PER_CALL // max(1, period_count)))
    return chunks(queries, size)
