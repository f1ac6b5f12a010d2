"""Reads the [database] of a profile: the PostgreSQL of a system, whose statements a run sums up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from harness.base.config import check_keys
from harness.base.errors import UsageError

_EXAMPLE = 'url = "postgresql://perf@db.example.org:5432/shop"'


@dataclass(frozen=True)
class DatabaseSpec:
    """A database: its address without a password, and the name of the secret that is the password.

    Without such a name psql finds the password itself: in PGPASSWORD or ~/.pgpass. `password` is set by a run.
    """

    url: str
    password_name: str = ""
    password: str = field(default="", repr=False)


def parse_database(table: Mapping[str, Any], where: str) -> DatabaseSpec | None:
    """Return the database of a profile; None without one. UsageError for an address that is none, or has a password."""
    if not table:
        return None
    check_keys(table, {"url": str, "password": str}, where)
    try:
        parts = urlsplit(table.get("url", ""))
        password = parts.password
    except ValueError:
        raise UsageError(f"{where}: url is not an address", f"give {_EXAMPLE}") from None
    if password is not None or "password=" in parts.query:
        # Not repeated in the message.
        todo = 'remove it, and name the environment variable that has it: password = "SHOP_DB_PASSWORD"'
        raise UsageError(f"{where}: url contains a password", todo)
    if parts.scheme not in ("postgresql", "postgres") or not parts.path.strip("/"):
        raise UsageError(f"{where}: url is not the address of a PostgreSQL database", f"give {_EXAMPLE}")
    return DatabaseSpec(table["url"], table.get("password", ""))
