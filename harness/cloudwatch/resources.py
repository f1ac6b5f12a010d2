"""Defines the resources that CloudWatch watches, and what is fetched of them."""

from __future__ import annotations

from dataclasses import dataclass

from harness.cloudwatch.services import Missing

Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Resource:
    """A watched machine, service or database. `kind` is one of KIND_TITLES, which also decides how a name looks."""

    kind: str
    name: str


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
