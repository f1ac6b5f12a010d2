"""Warns that requests of one kind have a label each.

Seen: 100 or more labels that differ only in numbers or ids, with fewer than 100 samples each on average.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind

# A number, or a part of an address that is long and hexadecimal, as those of UUIDs are.
_ID = re.compile(r"\b[0-9a-fA-F]{8,}\b|\d+")
_LABELS_LEAST = 100
# A label of fewer has no p99.
_SAMPLES_LEAST = 100


class _Kind(NamedTuple):
    """The labels of one kind of request, in their order, and how many samples these have together."""

    labels: dict[str, None]
    counts: list[int]


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the largest kind of labels that differ only in numbers: how many they are, two of them, samples each."""
    kinds: dict[str, _Kind] = {}
    for code in evidence.codes:
        kind = kinds.setdefault(_ID.sub("#", code.label), _Kind({}, []))
        kind.labels[code.label] = None
        kind.counts.append(code.sample_count)
    largest = max(kinds.values(), key=lambda kind: len(kind.labels), default=_Kind({}, []))
    count = len(largest.labels)
    if count >= _LABELS_LEAST and sum(largest.counts) < _SAMPLES_LEAST * count:
        first, second, *_ = largest.labels
        each = f"{sum(largest.counts) / count:.0f}"
        yield {"count": str(count), "labels": f"“{first}” and “{second}”", "each": each}


WARNING = WarningKind(
    code="numbered-labels",
    since="1.2.0",
    concerns=(ReportPart.COUNT,),
    needs=("codes",),
    text="{count} labels differ only in numbers, such as {labels}, with {each} samples each on average: too few for "
    "percentiles of their own. Give the requests of one kind one name, without a variable.",
    page=__doc__,
    found_in=found_in,
)
