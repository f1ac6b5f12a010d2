"""Lists the sources of metrics of remote machines. To add one, write a module with a Source and add it to SOURCES.

All sources share the keys and files named `cloudwatch`: they are of the first source, and their formats stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.base.errors import UsageError
from harness.cloudwatch.fetch import CloudWatch
from harness.cloudwatch.queries import CloudWatchSpec, Resource
from harness.cloudwatch.source import Source

SOURCES: tuple[Source, ...] = (CloudWatch(),)


def source_of(resource: Resource) -> Source:
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


def parse_sources(profile: Mapping[str, Any], where: str) -> CloudWatchSpec | None:
    """Return what a profile requests from its source; None without one. UsageError for several, or a wrong table."""
    named = [source for source in SOURCES if source.name in profile]
    if len(named) > 1:
        found = " and ".join(f"[{source.name}]" for source in named)
        raise UsageError(f"{where}: {found} exclude each other", "give one source of metrics")
    return named[0].parse(profile[named[0].name], f"{where} [{named[0].name}]") if named else None
