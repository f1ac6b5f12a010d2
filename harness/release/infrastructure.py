"""The infrastructure of a release: how its services, databases and machines were set up when its page was written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.cloudwatch.queries import resource_title
from harness.cloudwatch.resources import Resource, ResourceFacts
from harness.report.tables import cell, table

FORMAT_VERSION = 1
FILE_NAME = "infrastructure.json"


@dataclass(frozen=True)
class Infrastructure:
    """infrastructure.json of a sweep: the set-up of the watched resources; `read_at` is UTC in ISO 8601."""

    format_version: int
    read_at: str
    resources: tuple[ResourceFacts, ...]
    what: ClassVar = "an infrastructure"
    version: ClassVar = FORMAT_VERSION

    @property
    def facts(self) -> dict[tuple[str, str], str]:
        """The values as text, by the title of a resource and the name of its setting."""
        titled = [(resource_title(Resource(one.kind, one.name)), one.facts) for one in self.resources]
        return {(title, name): value for title, facts in titled for name, value in facts}


def infrastructure_table(sides: Sequence[Infrastructure | None], names: Sequence[str]) -> str:
    """Return the table of all infrastructures, a row per resource and setting; empty when all are unknown."""
    facts = [one.facts if one else {} for one in sides]
    rows = [
        [*map(cell, fact), *(cell(side.get(fact, "")) for side in facts)]
        for fact in dict.fromkeys(fact for side in facts for fact in side)
    ]
    heads = ["resource", "setting", *map(cell, names)]
    return table(heads, rows, text_columns=len(heads)) if rows else ""


def changed_facts(baseline: Infrastructure | None, contender: Infrastructure | None) -> list[str]:
    """Return what differs where both infrastructures are known: resource, setting and both values."""
    if baseline is None or contender is None:
        return []
    earlier, later = baseline.facts, contender.facts
    return [
        f"{' '.join(fact)}: {earlier.get(fact, 'none')} → {later.get(fact, 'none')}"
        for fact in dict.fromkeys((*earlier, *later))
        if earlier.get(fact) != later.get(fact)
    ]


def read_times(sides: Iterable[tuple[str, Infrastructure | None]]) -> list[str]:
    """Return when the infrastructure of each release was read."""
    return [f"{name}: read from AWS at {one.read_at}." for name, one in sides if one]
