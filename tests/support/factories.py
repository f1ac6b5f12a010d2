"""Samples and records for tests, with everything that does not matter filled in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from harness.jtl.sample import Dropped, Sample
from harness.metrics.tally import SampleTally, Scope
from harness.plan.goal import Goal
from harness.plan.load import CLOSED
from harness.plan.load.model import LoadRecord
from harness.run.record import FINISHED, HostRecord, RunRecord


def sample(label: str = "Pay", elapsed_ms: int = 100, start_ms: int = 1_000_000, **changes: Any) -> Sample:
    """Return a successful sample of the load."""
    values: dict[str, Any] = {
        "start_ms": start_ms,
        "elapsed_ms": elapsed_ms,
        "label": label,
        "code": "201",
        "message": "Created",
        "thread_name": "Users 1-1",
        "success": True,
        "failure": "",
        "received_bytes": 300,
        "sent_bytes": 100,
        "all_threads": 1,
    }
    return Sample(**{**values, **changes})


def failed(label: str = "Pay", code: str = "402", failure: str = "expected 201", **changes: Any) -> Sample:
    """Return a failed sample."""
    values = {"success": False, "message": "Payment Required", "error_count": 1, **changes}
    return sample(label, code=code, failure=failure, **values)


def closed_load(users: int = 2, **changes: Any) -> LoadRecord:
    """Return a closed load of 50 loops: how long it lasts is not asked for."""
    values: dict[str, Any] = {
        "model": CLOSED, "users": users, "rate_per_s": None, "ramp_s": 1.0, "duration_s": None, "loops": 50,
        "think_time_s": 0.0,
    }  # fmt: skip
    return LoadRecord(**{**values, **changes})


def record(**changes: Any) -> RunRecord:
    """Return the record of a finished run of the plan `tiny`."""
    values: dict[str, Any] = {
        "format_version": 1,
        "name": "run-01_1",
        "plan": "tiny",
        "plan_title": "A tiny plan",
        "profile": "local",
        "profile_title": "Test machine",
        "command": "lth run --plan=tiny",
        "state": FINISHED,
        "load": closed_load(),
        "goal": Goal(p90_ms=1000, error_ratio=0.01),
        "once_labels": ("Create",),
        "plan_notes": (),
        "note": "",
        "target": None,
        "system": "tiny",
        "system_settings": {"heap_mb": 512},
        "system_facts": (("heap", "512 MB"),),
        "properties": {"users": "2"},
        "generator_heap_mb": 1024,
        "versions": {"java": "17.0.15", "jmeter": "5.6.3"},
        "host": HostRecord("Test CPU", 2, 8 * 1024**3, "Linux 6", "3.11.7"),
        "git_commit": "0123456789abcdef",
        "git_changed": False,
        "started_at": "2026-01-01T00:00:00Z",
        "took_s": 100.0,
        "exit_codes": {"jmeter": 0},
        **changes,
    }
    if "ended_at" not in changes:  # both clocks agree
        ended = datetime.fromisoformat(values["started_at"]) + timedelta(seconds=values["took_s"] or 0)
        values["ended_at"] = ended.strftime("%Y-%m-%dT%H:%M:%SZ")
    return RunRecord(**values)


def two_users(count: int = 50, elapsed_ms: int = 1000) -> list[Sample]:
    """Return the samples of two users who wait for one answer after the other: busy all the time."""
    return [
        sample(
            elapsed_ms=elapsed_ms,
            start_ms=1_000_000 + iteration * elapsed_ms,
            all_threads=2,
            thread_name=f"Users 1-{user}",
        )
        for iteration in range(count)
        for user in (1, 2)
    ]


def tally_of(samples: Iterable[Sample], once_labels: Sequence[str] = (), dropped: Dropped | None = None) -> SampleTally:
    """Return the tally of all samples."""
    tally = Scope(tuple(once_labels)).tally()
    tally.dropped = dropped or Dropped()
    for one in samples:
        tally.add(one)
    return tally
