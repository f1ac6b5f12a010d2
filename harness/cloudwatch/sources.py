"""Lists the sources of metrics of remote machines, and fetches what a profile names.

To add one, write a module with a Source and add it to SOURCES. All sources share the keys and files named `cloudwatch`:
they are of the first source, and their formats stay.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from harness.base import aws
from harness.base.errors import HarnessError, UsageError
from harness.base.log import Log
from harness.base.records import build
from harness.cloudwatch import queries
from harness.cloudwatch.insights import read_insights
from harness.cloudwatch.listing import filtered_pages, listed_resources, service_names
from harness.cloudwatch.points import Answers
from harness.cloudwatch.queries import EC2, ECS, KIND_TITLES, METRICS, RDS, CloudWatchSpec, Query, Span
from harness.cloudwatch.services import Services
from harness.cloudwatch.source import Facts, Fetched, MetricsSpec, Resource, ResourceFacts, Source
from harness.metrics.downsampling import chunks
from harness.metrics.window import Window

# The limit of DescribeServices.
_SERVICES_PER_CALL = 10
_JAVA_VARIABLES = ("JAVA_OPTIONS", "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
# Sizes only: other options may contain secrets.
_JAVA_SIZE = re.compile(
    r"-X(?:m[sx]\w+|ss\w+|X:(?:Max)?(?:Metaspace|DirectMemory)Size=\w+|X:(?:Max|Initial)RAMPercentage=[\d.]+)"
)


class CloudWatch:
    """The source for what `queries.KIND_TITLES` lists."""

    name = "cloudwatch"
    title = "CloudWatch"
    spec_type = CloudWatchSpec
    kinds: Mapping[str, str] = KIND_TITLES
    metrics: Mapping[str, tuple[str, ...]] = {
        kind: tuple(metric.name for metric in metrics) for kind, metrics in METRICS.items()
    }

    def parse(self, table: Mapping[str, Any], where: str) -> CloudWatchSpec:
        """Return what [cloudwatch] requests."""
        return queries.parse_cloudwatch(table, where)

    def fetch(self, spec: CloudWatchSpec, from_s: int, to_s: int, log: Log) -> Fetched:
        """Return the metrics of an interval, in the shortest periods that CloudWatch still has."""
        listing = listed_resources(spec)
        asked = queries.queries_of(spec, listing.resources)
        if listing.error and not asked:
            raise listing.error
        from_before_s = from_s - max((query.before_s for query in asked), default=0)
        period_s = queries.available_period_s(spec.period_s, time.time() - from_before_s)
        span = queries.whole_periods(from_s, to_s, period_s)
        answers = Answers()
        for before_s in sorted({query.before_s for query in asked}):
            some = [query for query in asked if query.before_s == before_s]
            self._ask(answers, spec, some, span.and_before(before_s))
        for message in dict.fromkeys(answers.messages):
            log(f"{self.title} reports: {message}")
        return Fetched(answers.to_csv(asked, span), period_s, not any(answers.values.values()), listing.missing)

    def services(self, spec: CloudWatchSpec, origin_s: int, window: Window) -> Services:
        """Return the load of the databases from Performance Insights, and what is missing of it."""
        return read_insights(spec, origin_s, window)

    def infrastructure(self, spec: CloudWatchSpec, log: Log) -> tuple[ResourceFacts, ...]:
        """Return the set-up of the resources that AWS knows, in the order of the request.

        A kind that cannot be read is left out, and one line is logged.
        """
        facts: list[ResourceFacts] = []
        for kind, read in ((ECS, _services), (RDS, _databases), (EC2, _instances)):
            names = [resource.name for resource in spec.resources if resource.kind == kind]
            if not names:
                continue
            try:
                if kind == ECS:
                    names = service_names(spec, names)
                by_name = {one.name: one for one in read(spec, names)}
            except HarnessError as error:
                log(f"the set-up of {KIND_TITLES[kind]} resources is not known: {error}")
                continue
            facts += [by_name[name] for name in names if name in by_name]
        return tuple(facts)

    def _ask(self, answers: Answers, spec: CloudWatchSpec, asked: Sequence[Query], span: Span) -> None:
        """Add the answers to the queries."""
        client = aws.client("cloudwatch", spec.endpoint_url, spec.region)
        with aws.aws_errors(self.title):
            for call in queries.calls_of(asked, len(span.starts_s)):
                pages = client.get_paginator("get_metric_data").paginate(
                    MetricDataQueries=[query.to_request(span.period_s) for query in call],
                    StartTime=datetime.fromtimestamp(span.from_s, UTC),
                    EndTime=datetime.fromtimestamp(span.to_s, UTC),
                    ScanBy="TimestampAscending",
                )
                for page in pages:
                    answers.add(page)


def _services(spec: CloudWatchSpec, names: Sequence[str]) -> Iterator[ResourceFacts]:
    client = aws.client("ecs", spec.endpoint_url, spec.region)
    by_cluster: dict[str, list[str]] = {}
    for name in names:
        cluster, _, service = name.partition("/")
        by_cluster.setdefault(cluster, []).append(service)
    with aws.aws_errors(KIND_TITLES[ECS]):
        for cluster, services in by_cluster.items():
            for some in chunks(services, _SERVICES_PER_CALL):
                for service in client.describe_services(cluster=cluster, services=some)["services"]:
                    used = service["taskDefinition"]
                    definition = client.describe_task_definition(taskDefinition=used)["taskDefinition"]
                    name = f"{cluster}/{service['serviceName']}"
                    yield ResourceFacts(ECS, name, _service_facts(service, definition))


def _service_facts(service: Mapping[str, Any], definition: Mapping[str, Any]) -> Facts:
    facts = [
        ("task definition", f"{definition['family']}:{definition['revision']}"),
        ("tasks", f"{service['runningCount']} of {service['desiredCount']} running"),
        ("launch type", service.get("launchType", "")),
        ("task CPU units", definition.get("cpu", "")),
        ("task memory MB", definition.get("memory", "")),
    ]
    containers = definition.get("containerDefinitions", ())
    for container in containers:
        prefix = f"{container['name']}: " if len(containers) > 1 else ""
        facts += [(f"{prefix}{name}", value) for name, value in _container_facts(container)]
    return tuple((name, str(value)) for name, value in facts if value not in ("", None, 0))


def _container_facts(container: Mapping[str, Any]) -> list[tuple[str, Any]]:
    variables = [one.get("value", "") for one in container.get("environment", ()) if one.get("name") in _JAVA_VARIABLES]
    return [
        # Without the registry, whose name contains the number of the account.
        ("image", container.get("image", "").rpartition("/")[2]),
        ("CPU units", container.get("cpu")),
        ("memory limit MB", container.get("memory")),
        ("memory reservation MB", container.get("memoryReservation")),
        ("Java sizes", " ".join(size for text in variables for size in _JAVA_SIZE.findall(text))),
    ]


def _databases(spec: CloudWatchSpec, names: Sequence[str]) -> Iterator[ResourceFacts]:
    for page in filtered_pages(RDS, spec, "describe_db_instances", "db-instance-id", names):
        for database in page["DBInstances"]:
            facts = (
                ("instance class", database.get("DBInstanceClass", "")),
                ("engine", f"{database.get('Engine', '')} {database.get('EngineVersion', '')}".strip()),
                ("storage", f"{database.get('AllocatedStorage', '')} GB {database.get('StorageType', '')}".strip()),
                ("several zones", "yes" if database.get("MultiAZ") else "no"),
            )
            yield ResourceFacts(RDS, database["DBInstanceIdentifier"], facts)


def _instances(spec: CloudWatchSpec, names: Sequence[str]) -> Iterator[ResourceFacts]:
    for page in filtered_pages(EC2, spec, "describe_instances", "instance-id", names):
        for machine in (one for reservation in page["Reservations"] for one in reservation["Instances"]):
            facts = (("instance type", machine.get("InstanceType", "")), ("image", machine.get("ImageId", "")))
            yield ResourceFacts(EC2, machine["InstanceId"], facts)


SOURCES: tuple[Source[Any], ...] = (CloudWatch(),)


class StoredSpec:
    """Reads what a run requested from its source: the kinds of the resources identify the source."""

    @staticmethod
    def from_plain(data: object, where: str) -> MetricsSpec:
        """Return the spec in the JSON of a run; ValueError names the key that is wrong."""
        found = data.get("resources") if isinstance(data, Mapping) else None
        resources = found if isinstance(found, list | tuple) else ()
        kinds = {str(one.get("kind")) for one in resources if isinstance(one, Mapping)}
        # Without a known kind the first source names what is wrong.
        source = next((source for source in SOURCES if kinds & source.kinds.keys()), SOURCES[0])
        spec: MetricsSpec = build(source.spec_type, data, where)
        return spec


def source_of(resource: Resource) -> Source[Any]:
    """Return the source that has the metrics of a resource."""
    for source in SOURCES:
        if resource.kind in source.kinds:
            return source
    raise UsageError(f"{resource.kind} {resource.name}: no source has this kind", "use the harness that wrote it")


def resource_title(resource: Resource) -> str:
    """Return what a resource is called: ECS perf/mod-circulation."""
    return f"{source_of(resource).kinds[resource.kind]} {resource.name}"


def metric_names(resource: Resource) -> tuple[str, ...]:
    """Return the names of the metrics that a resource of this kind can have."""
    return source_of(resource).metrics[resource.kind]


def titles() -> str:
    """Return the titles of all sources for a message."""
    return " or ".join(source.title for source in SOURCES)


def table_names() -> tuple[str, ...]:
    """Return the names of the tables in a profile that request metrics."""
    return tuple(source.name for source in SOURCES)


def parse_sources(profile: Mapping[str, Any], where: str) -> MetricsSpec | None:
    """Return what a profile requests from its source; None without one. UsageError for several, or a wrong table."""
    named = [source for source in SOURCES if source.name in profile]
    if len(named) > 1:
        found = " and ".join(f"[{source.name}]" for source in named)
        raise UsageError(f"{where}: {found} cannot be used together", "give one source of metrics")
    if not named:
        return None
    spec: MetricsSpec = named[0].parse(profile[named[0].name], f"{where} [{named[0].name}]")
    return spec
