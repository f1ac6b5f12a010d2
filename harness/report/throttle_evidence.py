"""Evidence of throttling: the values for the text of its warning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.base import units
from harness.metrics.throttle import Throttle
from harness.report.evidence import Evidence, Values

if TYPE_CHECKING:  # it loads slowly, and most JTLs have none
    from harness.cloudwatch.points import CloudMetrics

# A smaller share of failed samples after the fall is not mentioned.
_FAILED_NAMED_RATIO = 0.01


def throttled(evidence: Evidence) -> Iterator[Values]:
    """Yield from when on the throughput was a constant fraction, and what the response times did.

    A window that ends before the fall has the figures of a machine at full speed: it gets no warning.
    """
    if evidence.throttle and evidence.throttle.began_s < evidence.window.to_s:
        yield throttle_values(evidence.throttle, evidence.cloudwatch)


def throttle_values(fall: Throttle, cloudwatch: CloudMetrics | None) -> Values:
    """Return the values for the warning about a fall; `cloudwatch` may have balances that were used up."""
    before_ms, after_ms = (units.average_text(average) for average in (fall.before_ms, fall.after_ms))
    verb = "rose" if fall.after_ms > fall.before_ms else "did not rise:"
    failed = f", and {units.percent_text(fall.after_error_ratio, 0)} % of the samples failed"
    return {
        "at": units.clock_text(fall.constant_s),
        "percent": units.percent_text(fall.ratio, 0),
        "before": f"{fall.before_per_s:.3g}",
        "after": f"{fall.after_per_s:.3g}",
        "users": "" if fall.user_count is None else f" with {units.plural(fall.user_count, 'steady user')}",
        "during": _during(fall),
        "times": f"response times {verb} from {before_ms} to {after_ms} ms",
        "failed": failed if fall.after_error_ratio >= _FAILED_NAMED_RATIO else "",
        "balances": _balances(cloudwatch),
        "began_s": str(fall.began_s),
        "constant_s": str(fall.constant_s),
    }


def _during(fall: Throttle) -> str:
    """Return when the fall began; empty where it took a moment."""
    if fall.began_s == fall.constant_s:
        return ""
    return f" (the fall began at {units.clock_text(fall.began_s)})"


def _balances(found: CloudMetrics | None) -> str:
    """Return a sentence with the balances that reached zero in the measurement window; empty without one."""
    if found is None:
        return ""
    from harness.cloudwatch.queries import CPU_CREDITS
    from harness.cloudwatch.sources import resource_title

    used_up = [
        f"the {'CPU credits' if metric.metric == CPU_CREDITS else 'burst balance'} of {resource_title(metric.of)}"
        for metric in found.metrics
        if metric.is_used_up
    ]
    return f" In the measurement window {' and '.join(used_up)} reached 0." if used_up else ""
