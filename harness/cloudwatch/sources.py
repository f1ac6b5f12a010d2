"""Lists the sources of metrics of remote machines. To add one, write a module with a Source and add it to SOURCES.

All sources share the keys and files named `cloudwatch`: they are of the first source, and their formats stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.base.errors import UsageError
from harness.base.records import build
from harness.cloudwatch.fetch import CloudWatch
from harness.cloudwatch.source import MetricsSpec, Resource, Source

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
        raise UsageError(f"{where}: {found} exclude each other", "give one source of metrics")
    if not named:
        return None
    spec: MetricsSpec = named[0].parse(profile[named[0].name], f"{where} [{named[0].name}]")
    return spec
