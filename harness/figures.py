"""What is printed of samples: figures per label and group, counts of codes, kinds of error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

TOTAL = "TOTAL"
LOAD, ONCE, SETUP, TEARDOWN = "load", "once", "setUp", "tearDown"
GROUPS = (LOAD, ONCE, SETUP, TEARDOWN)


@dataclass(frozen=True)
class LabelFigures:
    """The figures of one label, or of a group's TOTAL.

    The rate counts samples from the first start to the last end; the 90 % line follows JMeter's rule (see Histogram).
    """

    label: str
    sample_count: int
    average_ms: float
    median_ms: int
    p90_ms: int
    min_ms: int
    max_ms: int
    error_count: int
    error_ratio: float
    rate_per_s: float | None
    received_bytes_per_s: float | None
    sent_bytes_per_s: float | None


@dataclass(frozen=True)
class Group:
    """Labels that are added up together: the load itself, the steps once per user, setUp or tearDown."""

    name: str
    labels: tuple[LabelFigures, ...]
    total: LabelFigures


def driven_labels(groups: Iterable[Group]) -> frozenset[str]:
    """Return the labels of the load and of the steps once per user: what setUp and tearDown are not."""
    return frozenset(figures.label for group in groups if group.name in (LOAD, ONCE) for figures in group.labels)


@dataclass(frozen=True)
class CodeCount:
    """How often a label was answered with a response code, and how many of those count as errors."""

    label: str
    code: str
    sample_count: int
    error_count: int


@dataclass(frozen=True)
class ErrorKind:
    """Errors of one label, code and cause: how many, and when the first and last began (s after the first sample)."""

    label: str
    code: str
    cause: str
    count: int
    first_s: float
    last_s: float
