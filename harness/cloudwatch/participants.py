"""Decides which services of a cluster took part in a run: by their CPU, against the ten minutes before."""

from __future__ import annotations

from collections.abc import Collection

from harness.cloudwatch.points import CloudMetric, CloudMetrics
from harness.cloudwatch.queries import ALL, CPU, ECS
from harness.cloudwatch.resources import Resource
from harness.cloudwatch.services import Participant, Services

# By how much the CPU of a service that took part is above its highest minute before the run.
TOOK_PART_RATIO = 0.01


def participants_of(
    found: CloudMetrics | None, requested: Collection[Resource], *, was_quiet: bool = True
) -> tuple[Participant, ...]:
    """Return the services of the clusters whose services were all requested: first those that took part, by their CPU.

    A service took part when its average CPU in the counted periods is at least a percentage point above its highest
    minute of the ten before the load. Neither a constant CPU nor the usual peaks of an idle service are above that.
    Unless it `was_quiet` before the load, it is not known of the others whether they took part.
    """
    clusters = {one.name.removesuffix(ALL) for one in requested if one.kind == ECS and one.name.endswith(ALL)}
    metrics = [one for one in found.metrics if one.kind == ECS and one.metric == CPU] if found else []
    all_found = [
        _participant(one, was_quiet=was_quiet) for one in metrics if one.resource.partition("/")[0] in clusters
    ]
    return tuple(sorted(all_found, key=lambda one: (not one.took_part, -(one.cpu_percent or 0.0), one.service)))


def idle_services(services: Services | None) -> frozenset[Resource]:
    """Return the services that did not take part; none when they are not known."""
    idle = (one for one in (services.participants if services else ()) if one.took_part is False)
    return frozenset(Resource(ECS, f"{one.cluster}/{one.service}") for one in idle)


def _participant(cpu: CloudMetric, *, was_quiet: bool) -> Participant:
    cluster, _, service = cpu.resource.partition("/")
    took_part = None
    if cpu.mean is not None and cpu.before_maximum is not None:
        took_part = cpu.mean >= cpu.before_maximum + TOOK_PART_RATIO or (False if was_quiet else None)
    return Participant(cluster, service, _percent(cpu.before_mean), _percent(cpu.mean), took_part)


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else round(100 * ratio, 2)
