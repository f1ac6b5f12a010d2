"""Reads how watched resources are set up in AWS: task definitions, tasks, CPU, memory limits, instance classes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.base import aws
from harness.base.errors import HarnessError
from harness.base.log import Log
from harness.cloudwatch.queries import EC2, ECS, KIND_TITLES, RDS, CloudWatchSpec
from harness.cloudwatch.source import Facts, ResourceFacts

# The limit of DescribeServices.
_SERVICES_PER_CALL = 10
_JAVA_VARIABLES = ("JAVA_OPTIONS", "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
# Sizes only: other options may contain secrets.
_JAVA_SIZE = re.compile(
    r"-X(?:m[sx]\w+|ss\w+|X:(?:Max)?(?:Metaspace|DirectMemory)Size=\w+|X:(?:Max|Initial)RAMPercentage=[\d.]+)"
)


def read_infrastructure(spec: CloudWatchSpec, log: Log) -> tuple[ResourceFacts, ...]:
    """Return the set-up of the resources that AWS knows, in the order of the request.

    A kind that cannot be read is left out, and one line is logged.
    """
    found: list[ResourceFacts] = []
    for kind, read in ((ECS, _services), (RDS, _databases), (EC2, _instances)):
        names = [resource.name for resource in spec.resources if resource.kind == kind]
        if not names:
            continue
        try:
            by_name = {one.name: one for one in read(spec, names)}
        except HarnessError as error:
            log(f"the set-up of {KIND_TITLES[kind]} resources is not known: {error}")
            continue
        found += [by_name[name] for name in names if name in by_name]
    return tuple(found)


def _services(spec: CloudWatchSpec, names: Sequence[str]) -> Iterator[ResourceFacts]:
    client = aws.client("ecs", spec.endpoint_url, spec.region)
    by_cluster: dict[str, list[str]] = {}
    for name in names:
        cluster, _, service = name.partition("/")
        by_cluster.setdefault(cluster, []).append(service)
    with aws.aws_errors(KIND_TITLES[ECS]):
        for cluster, services in by_cluster.items():
            for start in range(0, len(services), _SERVICES_PER_CALL):
                some = services[start : start + _SERVICES_PER_CALL]
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
    client = aws.client("rds", spec.endpoint_url, spec.region)
    with aws.aws_errors(KIND_TITLES[RDS]):
        filters = [{"Name": "db-instance-id", "Values": list(names)}]
        for page in client.get_paginator("describe_db_instances").paginate(Filters=filters):
            for database in page["DBInstances"]:
                storage = f"{database.get('AllocatedStorage', '')} GB {database.get('StorageType', '')}".strip()
                facts = (
                    ("instance class", database.get("DBInstanceClass", "")),
                    ("engine", f"{database.get('Engine', '')} {database.get('EngineVersion', '')}".strip()),
                    ("storage", storage),
                    ("several zones", "yes" if database.get("MultiAZ") else "no"),
                )
                yield ResourceFacts(RDS, database["DBInstanceIdentifier"], facts)


def _instances(spec: CloudWatchSpec, names: Sequence[str]) -> Iterator[ResourceFacts]:
    client = aws.client("ec2", spec.endpoint_url, spec.region)
    with aws.aws_errors(KIND_TITLES[EC2]):
        filters = [{"Name": "instance-id", "Values": list(names)}]
        for page in client.get_paginator("describe_instances").paginate(Filters=filters):
            for machine in (one for reservation in page["Reservations"] for one in reservation["Instances"]):
                facts = (("instance type", machine.get("InstanceType", "")), ("image", machine.get("ImageId", "")))
                yield ResourceFacts(EC2, machine["InstanceId"], facts)
