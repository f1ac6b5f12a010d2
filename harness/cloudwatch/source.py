"""Defines what a source of metrics of remote machines provides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from harness.base.log import Log
from harness.cloudwatch.services import Missing, Services
from harness.metrics.window import Window

Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Resource:
    """A watched machine, service or database. The source defines the kinds and what a name looks like."""

    kind: str
    name: str


class MetricsSpec(Protocol):
    """What a profile requests from a source, as JSON also part of run.json.

    Each source has a frozen dataclass of its own for it, with these two fields and those that the source needs.
    """

    @property
    def period_s(self) -> int:
        """The requested length of a period."""

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The watched resources, at least one."""


@dataclass(frozen=True)
class ResourceFacts:
    """How a resource is set up: `facts` are (name, value) pairs."""

    kind: str
    name: str
    facts: Facts


@dataclass(frozen=True)
class Fetched:
    """The metrics of a run as the text of cloudwatch.csv, in periods of `period_s`; `is_empty`: it has no value.

    `missing` is what could not be gathered beside them.
    """

    csv_text: str
    period_s: int
    is_empty: bool
    missing: tuple[Missing, ...] = ()


S = TypeVar("S", bound=MetricsSpec)


class Source(Protocol[S]):
    """A server that has metrics of a run's machines.

    `name` is its table in a profile. `spec_type` is the dataclass of what that table requests. `kinds` are the titles
    of its kinds of resources, `metrics` their metrics by our names. No two sources have the same kind: the kind in a
    run's files identifies the source.
    """

    name: str
    title: str
    spec_type: type[S]
    kinds: Mapping[str, str]
    metrics: Mapping[str, tuple[str, ...]]

    def parse(self, table: Mapping[str, Any], where: str) -> S:
        """Return what a profile's table requests; UsageError when it is wrong."""

    def fetch(self, spec: S, from_s: int, to_s: int, log: Log) -> Fetched:
        """Return the metrics of an interval (s since 1970); HarnessError when the server fails."""

    def services(self, spec: S, origin_s: int, window: Window) -> Services:
        """Return the load of databases in a run that began at `origin_s` (s since 1970), and what is missing of it.

        Failures are in `missing`: they raise no error.
        """

    def infrastructure(self, spec: S, log: Log) -> tuple[ResourceFacts, ...]:
        """Return how the resources are set up, in the order of the request; none when the source does not know it."""
