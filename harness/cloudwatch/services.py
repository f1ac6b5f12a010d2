"""What is known of a run's services beside their metrics: who took part, the load of databases, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.base.aws import NoRightError
from harness.base.errors import HarnessError

FORMAT_VERSION = 1
FILE_NAME = "services.json"


@dataclass(frozen=True)
class Missing:
    """What a source did not have, and why: `right` is the permission that the credentials lack."""

    source: str
    resource: str
    reason: str
    right: str | None = None

    @classmethod
    def of(cls, error: HarnessError, source: str, resource: str) -> Missing:
        """Return what is missing because of an error."""
        right = error.right if isinstance(error, NoRightError) else None
        return cls(source, resource, error.what.removeprefix(f"{source}: "), right)


@dataclass(frozen=True)
class Participant:
    """A service of a cluster: CPU in % of its reservation, None when CloudWatch had no value.

    `cpu_before_percent` is the average of the ten minutes before the load, `cpu_percent` that of the counted periods.
    `took_part` is None when one of them is unknown.
    """

    cluster: str
    service: str
    cpu_before_percent: float | None
    cpu_percent: float | None
    took_part: bool | None


@dataclass(frozen=True)
class SessionWait:
    """What sessions waited for: their average number in the window, and in each period of the run; None: unknown."""

    wait: str
    average_sessions: float | None
    sessions: tuple[float | None, ...]


@dataclass(frozen=True)
class Sql:
    """A statement without literals: its active sessions, calls and time per call in the window; None: unknown."""

    id: str
    text: str
    average_sessions: float | None
    calls_per_s: float | None
    ms_per_call: float | None


@dataclass(frozen=True)
class DatabaseLoad:
    """The load of a database: `sessions` of waits begin `from_s` after the load began and have periods of `period_s`.

    The waits and statements with the most active sessions come first.
    """

    name: str
    from_s: int
    period_s: int
    waits: tuple[SessionWait, ...]
    sql: tuple[Sql, ...]


@dataclass(frozen=True)
class Services:
    """What was gathered of a run's services beside their metrics, and what was not."""

    missing: tuple[Missing, ...] = ()
    participants: tuple[Participant, ...] = ()
    databases: tuple[DatabaseLoad, ...] = ()


@dataclass(frozen=True)
class StoredServices:
    """services.json of a run."""

    format_version: int
    services: Services
    what: ClassVar = "the services of a run"
    version: ClassVar = FORMAT_VERSION
