"""Lists the resources that names in a profile mean: services of a cluster, volumes, brokers and consumers, domains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from harness.base import aws
from harness.base.errors import HarnessError
from harness.cloudwatch.queries import (
    ALL,
    CONSUMER,
    EBS,
    EC2,
    ECS,
    KIND_TITLES,
    METRICS,
    MSK,
    OPENSEARCH,
    CloudWatchSpec,
    Listed,
)
from harness.cloudwatch.resources import Resource
from harness.cloudwatch.services import Missing

# What a service or a consumer does is compared with this time before the load.
BEFORE_S = 600
# Each consumer takes six of the 500 metrics of a call.
_LISTED_MOST = 500


class Listing(NamedTuple):
    """The listed resources, what could not be listed, and the first error."""

    resources: tuple[Listed, ...]
    missing: tuple[Missing, ...]
    error: HarnessError | None


def listed_resources(spec: CloudWatchSpec) -> Listing:
    """Return the resources that names of a profile mean; what cannot be listed is missing."""
    found: list[Listed] = []
    first_error: HarnessError | None = None
    missing: list[Missing] = []
    for kind, what, list_them in _LISTS:
        names = [one.name for one in spec.resources if one.kind == kind and (kind != ECS or one.name.endswith(ALL))]
        # One call has the volumes of all instances.
        for some in [names] if names and kind == EC2 else [[name] for name in names]:
            source, resource = KIND_TITLES[kind], f"{what} of {', '.join(some).removesuffix(ALL)}"
            try:
                listed = list_them(spec, some)
            except HarnessError as error:
                first_error = first_error or error
                missing.append(Missing.of(error, source, resource))
                continue
            if not listed and kind != EC2:  # an instance may have no volume
                missing.append(Missing(source, resource, "AWS lists none"))
            if len(listed) > _LISTED_MOST:
                missing.append(Missing(source, resource, f"only the first {_LISTED_MOST} of {len(listed)} are fetched"))
            found += listed[:_LISTED_MOST]
    return Listing(tuple(found), tuple(missing), first_error)


def service_names(spec: CloudWatchSpec, names: Sequence[str]) -> list[str]:
    """Return cluster/service of each name, of which cluster/* means all services of the cluster."""
    found = [[*_services(spec, name)] if name.endswith(ALL) else [name] for name in names]
    return list(dict.fromkeys(name for some in found for name in some))


def _services(spec: CloudWatchSpec, name: str) -> Iterator[str]:
    cluster = name.removesuffix(ALL)
    client = aws.client("ecs", spec.endpoint_url, spec.region)
    with aws.aws_errors(KIND_TITLES[ECS]):
        for page in client.get_paginator("list_services").paginate(cluster=cluster):
            yield from (f"{cluster}/{arn.rpartition('/')[2]}" for arn in page["serviceArns"])


def _listed_services(spec: CloudWatchSpec, names: Sequence[str]) -> list[Listed]:
    (name,) = names
    named = {one.name for one in spec.resources if one.kind == ECS}
    return [Listed(Resource(ECS, one), BEFORE_S) for one in sorted(_services(spec, name)) if one not in named]


def filtered_pages(kind: str, spec: CloudWatchSpec, operation: str, by: str, names: Sequence[str]) -> Iterator[Any]:
    """Yield the pages with which AWS answers for the names; `by` is the filter with the names."""
    client = aws.client(kind, spec.endpoint_url, spec.region)
    with aws.aws_errors(KIND_TITLES[kind]):
        yield from client.get_paginator(operation).paginate(Filters=[{"Name": by, "Values": list(names)}])


def _volumes(spec: CloudWatchSpec, names: Sequence[str]) -> list[Listed]:
    pages = filtered_pages(EC2, spec, "describe_volumes", "attachment.instance-id", names)
    volumes = sorted(
        f"{attached['InstanceId']}/{volume['VolumeId']}"
        for page in pages
        for volume in page["Volumes"]
        for attached in volume["Attachments"]
        if attached["InstanceId"] in names
    )
    return [Listed(Resource(EBS, volume)) for volume in volumes]


def _dimensions(spec: CloudWatchSpec, kind: str, **named: str) -> Iterator[dict[str, str]]:
    """Yield the dimensions of each resource that has the first metric of a kind; `named` are some of them."""
    metric = METRICS[kind][0]
    client = aws.client("cloudwatch", spec.endpoint_url, spec.region)
    with aws.aws_errors(KIND_TITLES[kind]):
        pages = client.get_paginator("list_metrics").paginate(
            Namespace=metric.namespace,
            MetricName=metric.metric_name,
            Dimensions=[{"Name": name.replace("_", " "), "Value": value} for name, value in named.items()],
        )
        for found in (found for page in pages for found in page["Metrics"]):
            yield {one["Name"]: one["Value"] for one in found["Dimensions"]}


def _brokers(spec: CloudWatchSpec, names: Sequence[str]) -> list[Listed]:
    (name,) = names
    found = [one["Broker ID"] for one in _dimensions(spec, MSK, Cluster_Name=name) if "Broker ID" in one]
    return [Listed(Resource(MSK, f"{name}/{broker}")) for broker in sorted(set(found), key=lambda one: (len(one), one))]


def _consumers(spec: CloudWatchSpec, names: Sequence[str]) -> list[Listed]:
    (name,) = names
    found = {
        f"{name}/{one['Consumer Group']}/{one['Topic']}"
        for one in _dimensions(spec, CONSUMER, Cluster_Name=name)
        if one.keys() == {"Cluster Name", "Consumer Group", "Topic"}
    }
    return [Listed(Resource(CONSUMER, consumer), BEFORE_S) for consumer in sorted(found)]


def _domains(spec: CloudWatchSpec, names: Sequence[str]) -> list[Listed]:
    (name,) = names
    # The number of the account is a dimension of a domain; it is not stored.
    found = {one["ClientId"] for one in _dimensions(spec, OPENSEARCH, DomainName=name) if len(one) == 2}
    return [Listed(Resource(OPENSEARCH, name), 0, (("ClientId", account),)) for account in sorted(found)][:1]


_LISTS: tuple[tuple[str, str, Callable[[CloudWatchSpec, Sequence[str]], list[Listed]]], ...] = (
    (ECS, "services", _listed_services),
    (EC2, "burst balance of the volumes", _volumes),
    (MSK, "brokers", _brokers),
    (MSK, "consumers", _consumers),
    (OPENSEARCH, "metrics", _domains),
)
