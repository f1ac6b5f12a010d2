"""Builds the tables of where the time went inside of the system, per level of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.base import units
from harness.base.units import MS_PER_S
from harness.report.tables import cell, table
from harness.sweep.levels import Level, level_head
from harness.system.profile import SAMPLES_LEAST, ProcessProfile

_METHODS_SHOWN = 3


def profile_table(levels: Sequence[Level]) -> str:
    """Return the table of profiles, one row per level and process; an empty text without profiles.

    Of repeats it shows the first counted run.
    """
    rows = [row for level in levels for row in _rows(level)]
    heads = (
        level_head(levels),
        "process",
        "hottest methods, self %",
        "longest waits for a lock",
        "threads waiting",
        "GC %",
    )
    return table(heads, rows, text_columns=4) if rows else ""


def _rows(level: Level) -> Iterator[list[str]]:
    profiled = next((run for run in level.counted if run.profiles), None)
    for profile in profiled.profiles if profiled else ():
        lock = profile.locks[0] if profile.locks else None
        yield [
            cell(level.value),
            cell(profile.process),
            _methods(profile),
            cell(f"{lock.lock} at {lock.method}") if lock else "none",
            f"{profile.wait_ms / MS_PER_S / profile.length_s:.2f}",
            units.percent_text(profile.collections.pause_ms / MS_PER_S / profile.length_s, 2),
        ]


def statement_table(levels: Sequence[Level]) -> str:
    """Return the table of databases, one row per level and database; an empty text without any.

    Of repeats it shows the first counted run. What is per request is empty for statements of a whole load.
    """
    rows = []
    for level in levels:
        run = next((run for run in level.counted if run.databases), None)
        for used in run.databases if run else ():
            most = used.statements[0] if used.statements else None
            times = (used.count, used.total_ms, most.total_ms if most else 0.0)
            requests = used.interval.request_count if used.interval else 0
            cells = [f"{value / requests:.2f}" if requests else "" for value in times]
            rows.append([cell(level.value), cell(used.process), cell(most.statement) if most else "none", *cells])
    text_heads = (level_head(levels), "database", "statement that took most time")
    heads = (*text_heads, "statements per request", "ms per request", "its ms per request")
    return table(heads, rows, text_columns=3) if rows else ""


def _methods(profile: ProcessProfile) -> str:
    """Return the hottest methods with the share of samples in which each ran itself."""
    if profile.sample_count < SAMPLES_LEAST:
        return "too few samples"
    found = profile.methods[:_METHODS_SHOWN]
    shares = (units.percent_text(use.self_count / profile.sample_count, 1) for use in found)
    return ", ".join(f"{cell(use.method)} {share}" for use, share in zip(found, shares, strict=True))
