"""Reads a plan's table [allow]: what its JMX may do besides sending requests to the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from harness.base.config import check_keys, texts

# Earlier versions needed it for what every plan may do now: follow redirects within the allowed hosts.
_NEEDLESS = "redirects"
_FLAGS = {
    "scripts": "run scripts and programs",
    "embedded_resources": "fetch embedded resources",
    "other_protocols": "use elements other than HTTP requests",
    "credentials_across": "send credentials to other hosts",
}


@dataclass(frozen=True)
class Allowances:
    """The permissions of a plan; `hosts` are addresses besides the target, such as "api.example.org:443"."""

    scripts: bool = False
    embedded_resources: bool = False
    other_protocols: bool = False
    credentials_across: bool = False
    hosts: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the permissions as text for the report."""
        flags = [text for name, text in _FLAGS.items() if getattr(self, name)]
        return (*flags, *(f"reach {host}" for host in self.hosts))


def parse_allowances(table: Mapping[str, Any], where: str) -> Allowances:
    """Return the table [allow] of a plan. UsageError for an unknown key or a wrong value."""
    known: dict[str, type] = {field.name: list if field.name == "hosts" else bool for field in fields(Allowances)}
    check_keys(table, known | {_NEEDLESS: bool}, where)
    values = {name: value for name, value in table.items() if name != _NEEDLESS}
    return Allowances(**{**values, "hosts": texts(table.get("hosts", ()), f"{where} hosts")})
