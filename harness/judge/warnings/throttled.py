"""Warns that the throughput fell to a constant fraction.

Seen: With the same users, the throughput fell to a constant fraction and stayed there until the end
([how](methodology.md#throttling)).

Why it matters: That is what used-up CPU credits, disk bursts and CPU quotas look like. The averages mix the fast and
the throttled part.

What to do: Look at steal, cgroup throttling and credit balances. Use an instance without credits, or count both parts
with `--window`. If times stayed, look for missing rows, steps and users.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind
from harness.metrics.throttle import Throttle

if TYPE_CHECKING:  # it loads slowly, and most JTLs have none
    from harness.cloudwatch.points import CloudMetrics

# A smaller share of failed samples after a fall of the throughput is not mentioned.
_FAILED_NAMED_RATIO = 0.01
# What such a fall is, and what to look at.
_SYSTEM = "Throttled? The throughput", "Look at CPU credits, disk budgets, CPU quotas and steal at that time"
_USERS = (
    "Users sent less: the throughput",
    "A slower system has more requests in flight. Rows or a step are missing from then on, users paused longer, or the "
    "load generator was slow: look at each label",
)


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield from when on the throughput was a constant fraction, and what the response times did.

    A window that ends before the fall has the figures of a machine at full speed: it gets no warning.
    """
    if evidence.throttle and evidence.throttle.began_s < evidence.window.to_s:
        yield throttle_values(evidence.throttle, evidence.cloudwatch)


def throttle_values(fall: Throttle, cloudwatch: CloudMetrics | None) -> Values:
    """Return the values for the warning about a fall; `cloudwatch` may have balances that were used up."""
    before_ms, after_ms = (units.average_text(average) for average in (fall.before_ms, fall.after_ms))
    during = f" (the fall began at {units.clock_text(fall.began_s)})" if fall.began_s != fall.constant_s else ""
    verb = "rose" if fall.after_ms > fall.before_ms else "did not rise:"
    times = f"{verb} from {before_ms} to {after_ms} ms" if before_ms != after_ms else f"stayed at {after_ms} ms"
    failed = f", and {units.percent_text(fall.after_error_ratio, 0)} % of the samples failed"
    what, look = _USERS if fall.is_of_users else _SYSTEM
    return {
        "what": what,
        "look": look,
        "at": units.clock_text(fall.constant_s),
        "percent": units.percent_text(fall.ratio, 0),
        "before": f"{fall.before_per_s:.3g}",
        "after": f"{fall.after_per_s:.3g}",
        "users": "" if fall.user_count is None else f" with {units.plural(fall.user_count, 'steady user')}",
        "during": during,
        "times": f"response times {times}",
        "failed": failed if fall.after_error_ratio >= _FAILED_NAMED_RATIO else "",
        "balances": _balances(cloudwatch),
        "began_s": str(fall.began_s),
        "constant_s": str(fall.constant_s),
    }


def _balances(cloudwatch: CloudMetrics | None) -> str:
    """Return a sentence with the balances that reached zero in the measurement window; empty without one.

    An instance in unlimited mode borrows CPU credits then, and is not throttled.
    """
    if cloudwatch is None:
        return ""
    from harness.cloudwatch.queries import CPU_CREDITS, SURPLUS_CREDITS, resource_title

    borrowing = {one.of for one in cloudwatch.metrics if one.metric == SURPLUS_CREDITS and one.maximum}
    metrics = [
        metric
        for metric in cloudwatch.metrics
        if metric.is_used_up and not (metric.metric == CPU_CREDITS and metric.of in borrowing)
    ]
    kinds = ["CPU credits" if metric.metric == CPU_CREDITS else "burst balance" for metric in metrics]
    used_up = [f"the {kind} of {resource_title(metric.of)}" for kind, metric in zip(kinds, metrics, strict=True)]
    return f" In the measurement window {' and '.join(used_up)} reached 0." if used_up else ""


WARNING = WarningKind(
    code="throttled",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
    needs=("throttle",),
    hides=("one-state",),
    is_of_answers=True,
    brief="{what} fell to {percent} % at {at}",
    text="It stayed there: {before} req/s fell to {after} req/s{during}{users}, and {times}{failed}.{balances} "
    "{look}; count both parts alone: "
    "lth table FILE --window ..{began_s} and {constant_s}..",
    page=__doc__,
    found_in=found_in,
)
