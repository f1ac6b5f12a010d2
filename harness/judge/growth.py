"""The growth of resources during one run as text: its table, sentences with forecasts, its warning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.base import units
from harness.metrics import resource_growth as resources
from harness.metrics.resource_growth import MEMORY_RATIO, ResourceSeries, growths
from harness.metrics.window import Window

if TYPE_CHECKING:
    from harness.cloudwatch.points import CloudMetrics
    from harness.metrics.resource_growth import Growth
    from harness.run.record import RunRecord

# Below these, a forecast is printed in minutes or hours.
_MINUTES_BELOW_H, _HOURS_BELOW_H = 2.0, 48.0
_NAMED_MOST = 4
# Smaller values are printed as 0.
_SHOWN_LEAST = 0.01


class _Resource(NamedTuple):
    """How a resource is printed: its title, the unit of its values and what they are divided by for it."""

    title: str
    unit: str
    divisor: float


RESOURCES: Mapping[str, _Resource] = {
    resources.HEAP: _Resource("heap after GC", "MB", units.BYTES_PER_MB),
    resources.RSS: _Resource("memory", "MB", units.BYTES_PER_MB),
    resources.THREADS: _Resource("threads", "", 1.0),
    resources.OPEN_FILES: _Resource("open descriptors", "", 1.0),
    resources.SOCKETS: _Resource("open sockets", "", 1.0),
    resources.DISK: _Resource("disk used", "MB", units.BYTES_PER_MB),
    MEMORY_RATIO: _Resource("memory", "%", 0.01),
}


def is_constant(run: RunRecord | None) -> bool:
    """Return whether a run has one load all the time: with stages, resources follow the number of users."""
    return run is not None and not run.is_staged


def with_cloud(
    found: Sequence[Growth],
    cloudwatch: CloudMetrics | None,
    window: Window,
    run: RunRecord | None,
    service_limit: float | None = None,
) -> tuple[Growth, ...]:
    """Return the growths of a run with those of memory in AWS, which replace older ones.

    100 % of a service is what it reserves: it may use more, so that is its limit only as `service_limit`.
    """
    own = tuple(growth for growth in found if growth.resource != MEMORY_RATIO)
    if cloudwatch is None or not is_constant(run):
        return own
    # Deferred: a table needs no CloudWatch.
    from harness.cloudwatch.queries import ECS, MEMORY, resource_title

    series = []
    for metric in (one for one in cloudwatch.metrics if one.metric == MEMORY):
        points = tuple(
            (at_s - window.from_s, value)
            for at_s, value in zip(metric.seconds, metric.averages, strict=True)
            if value is not None and window.from_s <= at_s <= window.to_s
        )
        limit = service_limit if metric.kind == ECS else 1.0
        series.append(ResourceSeries(resource_title(metric.of), MEMORY_RATIO, points, limit))
    return own + growths(series, window.length_s)


def shown(value: float, resource: _Resource) -> str:
    scaled = value / resource.divisor
    if abs(scaled) < _SHOWN_LEAST:
        return "0"
    return f"{scaled:.0f}" if abs(scaled) >= 100 else f"{scaled:.3g}"


def left_text(growth: Growth) -> str:
    """Return when a resource reaches its limit, such as `11 days (9-14)`; empty without a forecast."""
    if growth.left_h is None or growth.left_low_h is None or growth.left_high_h is None:
        return ""
    if growth.left_h == 0:
        return "reached"
    factor, unit = (1, "h") if growth.left_h < _HOURS_BELOW_H else (1 / 24, "days")
    if growth.left_h < _MINUTES_BELOW_H:
        factor, unit = 60, "min"
    left, low, high = (f"{hours * factor:.0f}" for hours in (growth.left_h, growth.left_low_h, growth.left_high_h))
    return f"{left} {unit} ({low}-{high})"


def growth_text(growth: Growth) -> str:
    """Return a growth without its full stop, such as `heap after GC of shop grows 4.1 MB/h (3.2-5.0)`."""
    resource = RESOURCES[growth.resource]
    unit = f" {resource.unit}" if resource.unit else ""
    rates = [shown(rate, resource) for rate in (growth.per_hour, growth.low_per_hour, growth.high_per_hour)]
    verb = "grow" if resource.title.endswith("s") else "grows"
    text = f"{resource.title} of {growth.process} {verb} {rates[0]}{unit}/h ({rates[1]}-{rates[2]})"
    left = left_text(growth)
    return f"{text}: limit {left if growth.left_h == 0 else f'in {left}'}" if left else text
