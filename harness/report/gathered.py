"""Provisional: jobs and services of a run, until the branches that write them are merged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class JobLoad:
    load: str
    before_p95_ms: float | None
    during_p95_ms: float | None
    after_p95_ms: float | None
    before_count: int = 0
    during_count: int = 0
    after_count: int = 0


@dataclass(frozen=True)
class Job:
    name: str
    tenant: str | None
    state: str
    started_ms: int
    duration_s: float
    records: int | None
    records_per_s: float | None
    repetition: int
    loads: tuple[JobLoad, ...] = ()


@dataclass(frozen=True)
class Missing:
    source: str
    resource: str
    reason: str
    right: str | None = None


@dataclass(frozen=True)
class Participant:
    cluster: str
    service: str
    cpu_before_percent: float | None
    cpu_percent: float | None
    took_part: bool | None


@dataclass(frozen=True)
class Wait:
    wait: str
    average_sessions: float | None
    sessions: tuple[float | None, ...]


@dataclass(frozen=True)
class Sql:
    id: str
    text: str
    average_sessions: float | None
    calls_per_s: float | None
    ms_per_call: float | None


@dataclass(frozen=True)
class DatabaseLoad:
    name: str
    from_s: int
    period_s: int
    waits: tuple[Wait, ...]
    sql: tuple[Sql, ...]


@dataclass(frozen=True)
class Services:
    missing: tuple[Missing, ...] = ()
    participants: tuple[Participant, ...] = ()
    databases: tuple[DatabaseLoad, ...] = ()
