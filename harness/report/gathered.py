"""Provisional: the jobs of a run, until the branch that writes them is merged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LoadAround:
    load: str
    before_p95_ms: int | None
    during_p95_ms: int | None
    after_p95_ms: int | None
    before_count: int
    during_count: int
    after_count: int


@dataclass(frozen=True)
class JobRun:
    name: str
    tenant: str | None
    state: str
    started_ms: int | None
    duration_s: float | None
    records: int | None
    records_per_s: float | None
    repetition: int
    loads: tuple[LoadAround, ...] = ()
