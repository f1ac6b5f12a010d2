"""Defines the CloudWatch queries of a profile: its kinds of resources, and their metrics.

The limits are those of GetMetricData (CloudWatch API reference, 2010-08-01): 500 queries and 100,800 data points per
call. Periods below one minute are available for 3 hours, one minute for 15 days, five minutes for 63 days.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlsplit

from harness.base.config import texts
from harness.base.errors import UsageError
from harness.base.tables import read_table, toml_key
from harness.cloudwatch.resources import Resource
from harness.metrics.downsampling import chunks

# EBS volumes are not listed in a profile: they are those of its EC2 instances; consumers are those of its MSK clusters.
ECS, RDS, EC2, EBS, MSK, CONSUMER, OPENSEARCH, ELB = (
    "ecs", "rds", "ec2", "ebs", "msk", "consumer", "opensearch", "elb",
)  # fmt: skip
TITLE = "CloudWatch"
KIND_TITLES = {
    ECS: "ECS", RDS: "RDS", EC2: "EC2", EBS: "EBS", MSK: "MSK", CONSUMER: "MSK consumer", OPENSEARCH: "OpenSearch",
    ELB: "load balancer",
}  # fmt: skip
CPU, MEMORY, FREE_MEMORY, CONNECTIONS = "cpu_ratio", "memory_ratio", "free_memory_bytes", "connection_count"
# Balances of a budget: CPU credits of burstable instances, and I/O credits of gp2 volumes.
CPU_CREDITS, BURST = "cpu_credit_count", "burst_balance_ratio"
# What an instance in unlimited mode borrowed since its CPU credits are used up: it is not throttled, but costs more.
SURPLUS_CREDITS = "surplus_credit_count"
READ_LATENCY, WRITE_LATENCY, COMMIT_LATENCY = "read_latency_ms", "write_latency_ms", "commit_latency_ms"
READS, WRITES = "read_rate_per_s", "write_rate_per_s"
DISK, UNDER_REPLICATED = "disk_ratio", "under_replicated_count"
LAG, LARGEST_LAG = "lag_count", "largest_partition_lag_count"
JVM_MEMORY = "jvm_memory_ratio"
INDEXING, INDEXING_LATENCY = "indexing_rate_per_s", "indexing_latency_ms"
SEARCHES, SEARCH_LATENCY = "search_rate_per_s", "search_latency_ms"
REQUESTS, RESPONSE_TIME = "request_rate_per_s", "target_response_time_ms"
ELB_5XX, TARGET_5XX = "elb_5xx_per_min", "target_5xx_per_min"
AVERAGE, MINIMUM, MAXIMUM, SUM = "average", "minimum", "maximum", "sum"
STATISTICS = (AVERAGE, MINIMUM, MAXIMUM)
_SERVICES = 'give { cluster = "…", services = ["…"] }, or services = "*" for all'
# At the end of a name: all services of a cluster.
ALL = "/*"
QUERIES_PER_CALL = 500
POINTS_PER_CALL = 100_800
PERIOD_S = 60
_SHORT_PERIODS_S = (1, 5, 10, 30)
_PERIOD_MAX_S = 3600
# For data of this age (s), CloudWatch has no shorter period than this (s).
_RETENTION = ((63 * 86_400, 3600), (15 * 86_400, 300), (3 * 3600, 60))
_PERCENT = 0.01
_MS = 1000.0
_PER_MIN = 60.0


# What the names of resources look like, and its description for a message.
_NAMES = {
    ECS: (re.compile(r"[\w-]{1,255}/([\w-]{1,255}|\*)"), "cluster/service"),
    RDS: (re.compile(r"[A-Za-z][A-Za-z0-9-]{0,62}"), "the identifier of a database instance"),
    EC2: (re.compile(r"i-[0-9a-f]{8,17}"), "the id of an instance, such as i-0123456789abcdef0"),
    MSK: (re.compile(r"[A-Za-z0-9-]{1,64}"), "the name of a cluster"),
    OPENSEARCH: (re.compile(r"[a-z][a-z0-9-]{2,27}"), "the name of a domain"),
    ELB: (re.compile(r"app/[A-Za-z0-9-]{1,32}/[0-9a-f]{16}"), "the end of its ARN, such as app/folio/50dc6c495c0c9188"),
}


def dimensions_of(resource: Resource) -> Mapping[str, str]:
    """Return the dimensions that identify a resource in CloudWatch; a domain of OpenSearch also needs the account.

    Names of several parts: cluster/service of ECS, instance/volume, cluster/broker and cluster/consumer group/topic.
    """
    first, _, rest = resource.name.partition("/")
    group, _, topic = rest.rpartition("/")
    by_kind = {
        ECS: {"ClusterName": first, "ServiceName": rest},
        EBS: {"VolumeId": rest},
        RDS: {"DBInstanceIdentifier": resource.name},
        EC2: {"InstanceId": resource.name},
        MSK: {"Cluster Name": first, "Broker ID": rest},
        CONSUMER: {"Cluster Name": first, "Consumer Group": group, "Topic": topic},
        OPENSEARCH: {"DomainName": resource.name},
        ELB: {"LoadBalancer": resource.name},
    }
    return by_kind[resource.kind]


@dataclass(frozen=True)
class WatchedMetric:
    """A metric: our name, which contains the unit, CloudWatch's names, and the factor from its unit to ours.

    One that is not `is_everywhere` exists only for some resources of the kind: without values it is left out. `plus` is
    a second metric of CloudWatch that is added. What `is_counted` is the sum of a period, per second. CloudWatch has no
    value for a count of 0: where the metric `zero_beside` of the same resource has one, it is 0.
    """

    name: str
    namespace: str
    metric_name: str
    factor: float = 1.0
    is_everywhere: bool = True
    plus: str = ""
    is_counted: bool = False
    zero_beside: str = ""

    @property
    def statistics(self) -> tuple[str, ...]:
        """Return the statistics that are requested."""
        return (SUM,) if self.is_counted else STATISTICS


_some_rds = partial(WatchedMetric, namespace="AWS/RDS", is_everywhere=False)
_errors = partial(
    WatchedMetric,
    namespace="AWS/ApplicationELB",
    factor=_PER_MIN,
    is_everywhere=False,
    is_counted=True,
    zero_beside=REQUESTS,
)
METRICS = {
    ECS: (
        WatchedMetric(CPU, "AWS/ECS", "CPUUtilization", _PERCENT),
        WatchedMetric(MEMORY, "AWS/ECS", "MemoryUtilization", _PERCENT),
    ),
    RDS: (
        WatchedMetric(CPU, "AWS/RDS", "CPUUtilization", _PERCENT),
        # Memory in use would need the size of the instance class, which CloudWatch does not know.
        WatchedMetric(FREE_MEMORY, "AWS/RDS", "FreeableMemory"),
        WatchedMetric(CONNECTIONS, "AWS/RDS", "DatabaseConnections"),
        _some_rds(CPU_CREDITS, metric_name="CPUCreditBalance"),
        _some_rds(SURPLUS_CREDITS, metric_name="CPUSurplusCreditBalance"),
        _some_rds(BURST, metric_name="BurstBalance", factor=_PERCENT),
        _some_rds(READ_LATENCY, metric_name="ReadLatency", factor=_MS),
        _some_rds(WRITE_LATENCY, metric_name="WriteLatency", factor=_MS),
        _some_rds(COMMIT_LATENCY, metric_name="CommitLatency"),  # of Aurora, in ms
        _some_rds(READS, metric_name="ReadIOPS"),
        _some_rds(WRITES, metric_name="WriteIOPS"),
    ),
    EC2: (
        WatchedMetric(CPU, "AWS/EC2", "CPUUtilization", _PERCENT),
        # EC2 cannot see memory: the CloudWatch agent on the machine publishes this metric.
        WatchedMetric(MEMORY, "CWAgent", "mem_used_percent", _PERCENT),
        WatchedMetric(CPU_CREDITS, "AWS/EC2", "CPUCreditBalance", is_everywhere=False),
        WatchedMetric(SURPLUS_CREDITS, "AWS/EC2", "CPUSurplusCreditBalance", is_everywhere=False),
    ),
    EBS: (WatchedMetric(BURST, "AWS/EBS", "BurstBalance", _PERCENT, is_everywhere=False),),
    MSK: (
        WatchedMetric(CPU, "AWS/Kafka", "CpuUser", _PERCENT, plus="CpuSystem"),
        WatchedMetric(DISK, "AWS/Kafka", "KafkaDataLogsDiskUsed", _PERCENT),
        WatchedMetric(UNDER_REPLICATED, "AWS/Kafka", "UnderReplicatedPartitions"),
    ),
    CONSUMER: (
        WatchedMetric(LAG, "AWS/Kafka", "SumOffsetLag"),
        WatchedMetric(LARGEST_LAG, "AWS/Kafka", "MaxOffsetLag"),
    ),
    OPENSEARCH: (
        WatchedMetric(CPU, "AWS/ES", "CPUUtilization", _PERCENT),
        WatchedMetric(JVM_MEMORY, "AWS/ES", "JVMMemoryPressure", _PERCENT),
        # CloudWatch has the operations per minute of each node: the sum is that of all.
        WatchedMetric(INDEXING, "AWS/ES", "IndexingRate", is_counted=True),
        WatchedMetric(INDEXING_LATENCY, "AWS/ES", "IndexingLatency"),
        WatchedMetric(SEARCHES, "AWS/ES", "SearchRate", is_counted=True),
        WatchedMetric(SEARCH_LATENCY, "AWS/ES", "SearchLatency"),
    ),
    ELB: (
        WatchedMetric(REQUESTS, "AWS/ApplicationELB", "RequestCount", is_counted=True),
        WatchedMetric(RESPONSE_TIME, "AWS/ApplicationELB", "TargetResponseTime", _MS),
        _errors(ELB_5XX, metric_name="HTTPCode_ELB_5XX_Count"),
        _errors(TARGET_5XX, metric_name="HTTPCode_Target_5XX_Count"),
    ),
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
    """One statistic of one metric of one resource; `id` identifies it in the answer.

    The values of one that `adds_to` another are added to its values. `before_s` is how long before the run it begins.
    """

    id: str
    resource: Resource
    metric: WatchedMetric
    statistic: str
    adds_to: str = ""
    before_s: int = 0
    more_dimensions: tuple[tuple[str, str], ...] = ()

    def to_request(self, period_s: int) -> dict[str, Any]:
        """Return the query in the form of GetMetricData."""
        named = {**dimensions_of(self.resource), **dict(self.more_dimensions)}
        dimensions = [{"Name": name, "Value": value} for name, value in named.items()]
        metric = {"Namespace": self.metric.namespace, "MetricName": self.metric.metric_name, "Dimensions": dimensions}
        return {"Id": self.id, "MetricStat": {"Metric": metric, "Period": period_s, "Stat": self.statistic.title()}}


@dataclass(frozen=True)
class PeriodSpan:
    """Consecutive whole periods: `from_s` ≤ t < `to_s`, s since 1970."""

    from_s: int
    to_s: int
    period_s: int

    @property
    def starts_s(self) -> range:
        """Return the first second of each period."""
        return range(self.from_s, self.to_s, self.period_s)

    def and_before(self, before_s: int) -> PeriodSpan:
        """Return the span with so many seconds before it, in whole periods."""
        return replace(self, from_s=self.from_s - math.ceil(before_s / self.period_s) * self.period_s)


def requested(table: Mapping[str, Any] | None, profile: str) -> CloudWatchSpec | None:
    """Return what the table [cloudwatch] of a profile requests; None without one."""
    return None if table is None else parse_cloudwatch(table, f"env/{profile}.toml [cloudwatch]")


def resource_title(resource: Resource) -> str:
    """Return what a resource is called: ECS perf/mod-circulation."""
    return f"{KIND_TITLES[_known_kind(resource)]} {resource.name}"


def metric_names(resource: Resource) -> tuple[str, ...]:
    """Return the names of the metrics that a resource of this kind can have."""
    return tuple(metric.name for metric in METRICS[_known_kind(resource)])


def _known_kind(resource: Resource) -> str:
    if resource.kind not in KIND_TITLES:
        what = f"{resource.kind} {resource.name}: CloudWatch has no such kind"
        raise UsageError(what, "use the harness that wrote it")
    return resource.kind


@dataclass(frozen=True)
class _CloudWatchTable:
    spread: ClassVar[str] = "names"

    region: str | None = None
    endpoint_url: str | None = None
    period_s: int = PERIOD_S
    names: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class _ClusterTable:
    """Services of ECS: a cluster, and their names in it, or `*` for all of them."""

    cluster: str = toml_key(missing=_SERVICES)
    services: str | tuple[str, ...] = toml_key(missing=_SERVICES)


# By kind of resource: how its names are written. Those of ECS are texts or tables.
_LISTS: Mapping[str, Any] = {ECS: list[Any], **{kind: tuple[str, ...] for kind in _NAMES if kind != ECS}}


def parse_cloudwatch(table: Mapping[str, Any], where: str) -> CloudWatchSpec:
    """Return the spec of a profile's [cloudwatch]. UsageError for values that CloudWatch cannot have."""
    given = read_table(_CloudWatchTable, table, where, _LISTS)
    names = {**given.names, ECS: _ecs_names(given.names.get(ECS, ()), f"{where} {ECS}")}
    resources = [Resource(kind, name) for kind in _LISTS for name in names.get(kind, ())]
    for resource in resources:
        pattern, text = _NAMES[resource.kind]
        if not pattern.fullmatch(resource.name):
            raise UsageError(f"{where}: {resource.kind} {resource.name!r} is not a valid name", f"give {text}")
        if resources.count(resource) > 1:
            raise UsageError(f"{where}: {resource.kind} {resource.name} occurs twice", "name each once")
    if not resources:
        *others, last = _NAMES
        raise UsageError(f"{where}: nothing to watch", f"list resources in {', '.join(others)} or {last}")
    return CloudWatchSpec(
        region=_region(given.region, where),
        endpoint_url=_endpoint(given.endpoint_url, where),
        period_s=_period_s(given.period_s, where),
        resources=tuple(resources),
    )


def _ecs_names(entries: Sequence[object], where: str) -> tuple[str, ...]:
    """Return cluster/service of each entry: such a text, or a table of a cluster with its services."""
    names: list[str] = []
    for entry in entries:
        if isinstance(entry, Mapping):
            cluster = read_table(_ClusterTable, entry, where)
            if isinstance(cluster.services, str) and cluster.services != "*":
                raise UsageError(f"{where}: services = {cluster.services!r}", _SERVICES)
            names += [f"{cluster.cluster}/{service}" for service in cluster.services]
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


def whole_periods(from_s: float, to_s: float, period_s: int) -> PeriodSpan:
    """Return the whole periods that cover an interval (s since 1970)."""
    return PeriodSpan(math.floor(from_s / period_s) * period_s, math.ceil(to_s / period_s) * period_s, period_s)


def is_listed(resource: Resource) -> bool:
    """Return whether CloudWatch or ECS must be asked which resources a name of the profile means."""
    return resource.kind in (MSK, OPENSEARCH) or resource.name.endswith(ALL)


@dataclass(frozen=True)
class Listed:
    """A resource that AWS listed: what identifies it beside its name, and how long before the run it is watched (s)."""

    resource: Resource
    before_s: int = 0
    more_dimensions: tuple[tuple[str, str], ...] = ()


def queries_of(spec: CloudWatchSpec, listed: Sequence[Listed] = ()) -> tuple[Query, ...]:
    """Return the queries of all resources that the profile names, and of those that AWS listed."""
    named = [Listed(resource) for resource in spec.resources if not is_listed(resource)]
    queries: list[Query] = []
    for source in (*named, *listed):
        for metric in METRICS[source.resource.kind]:
            for statistic in metric.statistics:
                more = (source.before_s, source.more_dimensions)
                query = Query(f"q{len(queries)}", source.resource, metric, statistic, "", *more)
                queries.append(query)
                if metric.plus:
                    other = replace(metric, metric_name=metric.plus)
                    queries.append(Query(f"q{len(queries)}", source.resource, other, statistic, query.id, *more))
    return tuple(queries)


def calls_of(queries: Sequence[Query], period_count: int) -> Iterator[Sequence[Query]]:
    """Return the queries of each call, within the call's limits.

    A query with more data points than a call may return gets its own call and is answered in pages.
    """
    size = max(1, min(QUERIES_PER_CALL, POINTS_PER_CALL // max(1, period_count)))
    return chunks(queries, size)
