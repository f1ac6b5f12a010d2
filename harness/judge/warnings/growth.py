"""Warns that resources of the system grow under a constant load.

Seen: resources [grow](methodology.md#growth-in-one-run) while the load is constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind

if TYPE_CHECKING:
    from harness.metrics.resource_growth import Growth

_NAMED_MOST = 4


def growth_values(found: Sequence[Growth]) -> Iterator[Values]:
    """Yield what grows, with forecasts; nothing when all is steady."""
    from harness.judge.growth import RESOURCES, growth_text  # here: no bare JTL has any
    from harness.metrics.resource_growth import GROWS

    order = list(RESOURCES)
    ordered = sorted(found, key=lambda growth: order.index(growth.resource))
    if growing := [growth_text(growth) for growth in ordered if growth.verdict == GROWS]:
        rest = len(growing) - _NAMED_MOST
        yield {"what": "; ".join(growing[:_NAMED_MOST]) + (f"; and {rest} more" if rest > 0 else "")}


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the resources that grow under a constant load."""
    yield from growth_values(evidence.growths)


WARNING = WarningKind(
    code="growth",
    since="1.0.0",
    concerns=(ReportPart.VERDICT,),
    needs=("growths",),
    text="Growth under a constant load: {what}. Growth that does not end is a leak: run longer, or lth soak, "
    "whose report lists the classes that grew.",
    page=__doc__,
    found_in=found_in,
)
