"""The profile of a JVM as Markdown: where its time went, what its threads waited for, what it allocated."""

from __future__ import annotations

from urllib.parse import quote

from harness.base import units
from harness.base.units import MS_PER_S, average_text, mb_text
from harness.report.tables import cell, table
from harness.system.profile import SAMPLES_LEAST, ProcessProfile
from harness.system.statements import DatabaseUse


def profile_text(profile: ProcessProfile, folder: str) -> str:
    """Return the Markdown of one process; a part without events is one sentence or is left out.

    `folder` contains the flame graphs.
    """
    parts = [f"### {cell(profile.process)}", _methods(profile), _locks(profile), _allocations(profile)]
    return "\n\n".join(filter(None, [*parts, _collections(profile), _flame_graphs(profile, folder)]))


def _methods(profile: ProcessProfile) -> str:
    if profile.sample_count < SAMPLES_LEAST:
        return (
            f"Hottest methods: not known: only {units.plural(profile.sample_count, 'sample')} of running threads; "
            f"shares need {SAMPLES_LEAST}."
        )
    rows = [
        [cell(use.method), *(_percent(count, profile.sample_count) for count in (use.self_count, use.total_count))]
        for use in profile.methods
    ]
    period = units.number_text(profile.sample_period_ms)
    text = f"Hottest methods: share of {profile.sample_count} samples of running Java threads, taken every {period} ms."
    return f"{text}\n\n{table(('method', 'self %', 'with what it calls %'), rows)}"


def _locks(profile: ProcessProfile) -> str:
    if not profile.locks:
        return "Locks: no thread waited 1 ms or longer for one."
    rows = [
        [cell(wait.lock), cell(wait.method), cell(wait.holder), str(wait.count),
         *map(average_text, (wait.total_ms, wait.longest_ms))]
        for wait in profile.locks
    ]  # fmt: skip
    waiting = profile.wait_ms / MS_PER_S / profile.length_s
    text = f"Locks: on average {waiting:.2f} threads waited for one, counting waits of 1 ms and longer."
    columns = ("lock", "waited at", "held by", "waits", "all ms", "longest ms")
    return f"{text}\n\n{table(columns, rows, text_columns=3)}"


def database_text(used: DatabaseUse, request_count: int) -> str:
    """Return the Markdown of a database; `request_count` is the number of samples of the whole load."""
    if not used.statements:
        return f"### {cell(used.process)}\n\nStatements: none."
    per_request = f", {used.count / request_count:.1f} per sample of the load" if request_count else ""
    text = (
        f"Statements: {used.count} in the whole load{per_request}; together {average_text(used.total_ms)} ms. "
        "Those that took most time:"
    )
    rows = [
        [cell(use.statement), str(use.count), *map(average_text, (use.total_ms, use.mean_ms, use.longest_ms)),
         _each(use.rows_examined, use.count), _each(use.count_without_index, use.count), average_text(use.lock_ms)]
        for use in used.statements
    ]  # fmt: skip
    columns = (
        "statement", "count", "all ms", "mean ms", "longest ms", "rows examined each", "without index each", "lock ms",
    )  # fmt: skip
    return f"### {cell(used.process)}\n\n{text}\n\n{table(columns, rows)}"


def _each(total: int | None, count: int) -> str:
    return "" if total is None else f"{total / count:.1f}"


def _allocations(profile: ProcessProfile) -> str:
    if not profile.allocated_bytes:
        return ""
    rows = [
        [cell(made.object_class), cell(made.method), mb_text(made.bytes_estimated / profile.length_s, 1),
         _percent(made.bytes_estimated, profile.allocated_bytes)]
        for made in profile.allocations
    ]  # fmt: skip
    text = f"Allocations: about {mb_text(profile.allocated_bytes / profile.length_s, 1)} MB/s, estimated from samples."
    return f"{text}\n\n{table(('class', 'allocated at', 'MB/s', '%'), rows, text_columns=2)}"


def _collections(profile: ProcessProfile) -> str:
    found = profile.collections
    if not found.count:
        return "Garbage collections: none."
    share = found.pause_ms / MS_PER_S / profile.length_s
    return (
        f"Garbage collections: {found.count}, pauses {average_text(found.pause_ms)} ms in all "
        f"({units.percent_text(share, 2)} % of the window), the longest {average_text(found.longest_ms)} ms."
    )


def _flame_graphs(profile: ProcessProfile, folder: str) -> str:
    """Return links to the flame graphs; their kind is the last word of their name."""
    links = [
        f"[{name.removesuffix('.html').rpartition('-')[2]}]({quote(folder)}/{quote(name)})"
        for name in profile.flame_graphs
    ]
    return f"Flame graphs of the window: {', '.join(links)}." if links else ""


def _percent(part: int, whole: int) -> str:
    return units.percent_text(part / whole, 1)
