"""Asks AWS: fetches the metrics of resources from CloudWatch, and reads how the resources are set up."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from harness.base import aws
from harness.base.errors import HarnessError
from harness.base.log import Log
from harness.cloudwatch import queries
from harness.cloudwatch.listing import filtered_pages, listed_resources, service_names
from harness.cloudwatch.points import Answers
from harness.cloudwatch.queries import EC2, ECS, KIND_TITLES, RDS, TITLE, CloudWatchSpec, PeriodSpan, Query
from harness.cloudwatch.resources import Facts, Fetched, ResourceFacts
from harness.metrics.downsampling import chunks

# The limit of DescribeServices.
_SERVICES_PER_CALL = 10
_JAVA_VARIABLES = ("JAVA_OPTIONS", "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
# Sizes only: other options may contain secrets.
_JAVA_SIZE = re.compile(
    r"-X(?:m[sx]\w+|ss\w+|X:(?:Max)?(?:Metaspace|DirectMemory)Size=\w+|X:(?:Max|Initial)RAMPercentage=[\d.]+)"
)


def fetch(spec: CloudWatchSpec, from_s: int, to_s: int, log: Log) -> Fetched:
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
        _ask(answers, spec, some, span.and_before(before_s))
    for message in dict.fromkeys(answers.messages):
        log(f"{TITLE} reports: {message}")
    return Fetched(answers.to_csv(asked, span), period_s, not any(answers.values.values()), listing.missing)


def infrastructure(spec: CloudWatchSpec, log: Log) -> tuple[ResourceFacts, ...]:
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


def _ask(answers: Answers, spec: CloudWatchSpec, asked: Sequence[Query], span: PeriodSpan) -> None:
    """Add the answers to the queries."""
    client = aws.client("cloudwatch", spec.endpoint_url, spec.region)
    with aws.aws_errors(TITLE):
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
