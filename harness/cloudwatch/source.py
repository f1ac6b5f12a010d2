"""Defines what a source of metrics of remote machines provides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from harness.base.log import Log
from harness.cloudwatch.queries import CloudWatchSpec


@dataclass(frozen=True)
class Fetched:
    """The metrics of a run as the text of cloudwatch.csv, in periods of `period_s`; `is_empty`: it has no value."""

    csv_text: str
    period_s: int
    is_empty: bool


class Source(Protocol):
    """A server that has metrics of a run's machines.

    `name` is its table in a profile. `kinds` are the titles of its kinds of resources, `metrics` their metrics by our
    names. No two sources have the same kind: the kind in a run's files identifies the source.
    """

    name: str
    title: str
    kinds: Mapping[str, str]
    metrics: Mapping[str, tuple[str, ...]]

    def parse(self, table: Mapping[str, Any], where: str) -> CloudWatchSpec:
        """Return what a profile's table requests; UsageError when it is wrong."""

    def fetch(self, spec: CloudWatchSpec, from_s: int, to_s: int, log: Log) -> Fetched:
        """Return the metrics of an interval (s since 1970); HarnessError when the server fails."""
