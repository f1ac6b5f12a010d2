"""The tables of one run about its jobs, the growth of resources, and its slowest samples."""

from __future__ import annotations

from collections.abc import Sequence

from harness.base import units
from harness.judge.growth import RESOURCES, left_text, shown
from harness.judge.jobs import JobRun
from harness.judge.slowest import SlowSample
from harness.metrics.amounts import AmountUse
from harness.metrics.event_streams import StreamUse
from harness.metrics.resource_growth import CANNOT_TELL, GROWS, SPAN_LEAST_S, Growth
from harness.report.tables import cell, table

_HEADS = ("process", "resource", "first", "last", "per hour", "95 % interval", "verdict", "limit", "limit in")


def growth_table(found: Sequence[Growth]) -> str:
    """Return the table of growths: a row per process and resource."""
    return table(_HEADS, [_row(growth) for growth in found], text_columns=2)


def _row(growth: Growth) -> list[str]:
    resource = RESOURCES[growth.resource]
    title = f"{resource.title}, {resource.unit}" if resource.unit else resource.title
    return [
        cell(growth.process),
        title,
        shown(growth.first, resource),
        shown(growth.last, resource),
        shown(growth.per_hour, resource),
        f"{shown(growth.low_per_hour, resource)} to {shown(growth.high_per_hour, resource)}",
        f"**{growth.verdict}**" if growth.verdict == GROWS else growth.verdict,
        "" if growth.limit is None else shown(growth.limit, resource),
        left_text(growth),
    ]


def growth_notes(found: Sequence[Growth], length_s: int, *, is_soak: bool) -> list[str]:
    """Return the notes below the table, one sentence per line; for a soak also why there is no table."""
    if not found:
        least = units.duration_text(SPAN_LEAST_S)
        is_short = is_soak and length_s < SPAN_LEAST_S
        return [f"No growth is estimated: the measurement window is shorter than {least}."] if is_short else []
    lines = [
        "Slopes over the measurement window, from its 60 parts; neighbouring parts may depend on each other. A "
        "resource grows if its slope is significant among all rows, no shape that ends (memory that fills once, up to "
        "three steps) describes it better, and the rise is at least 2 % of its mean."
    ]
    if any(growth.left_h is not None for growth in found):
        lines.append("A forecast assumes that the growth goes on as it is.")
    if any(growth.verdict == GROWS and growth.limit is not None and growth.left_h is None for growth in found):
        lines.append("No forecast for a limit: the rate changed too much in the window. Run longer.")
    if any(growth.verdict == CANNOT_TELL for growth in found):
        why = "the heap rose, but no old garbage was collected in the window"
        lines.append(f"Cannot tell: {why}. A soak forces a full collection.")
    return lines


JOB_COLUMNS = ("job", "tenant", "state", "duration s", "records", "records/s")


LOAD_COLUMNS = ("job", "load", "p95 ms before", "during", "after", "count before", "during", "after")


UNKNOWN = "n/a"


def job_tables(jobs: Sequence[JobRun]) -> list[str]:
    """Return the tables of a report: the jobs, and the loads around each of them; nothing without jobs."""
    if not jobs:
        return []
    repeated = {job.name for job in jobs if job.repetition > 1}

    def name_of(job: JobRun) -> str:
        return cell(f"{job.name} {job.repetition}" if job.name in repeated else job.name)

    rows = [
        [name_of(job), cell(job.tenant or ""), job.state, *map(_text, (job.duration_s, job.records, job.records_per_s))]
        for job in jobs
    ]
    around = [
        [name_of(job), cell(one.load), *map(_text, (one.before_p95_ms, one.during_p95_ms, one.after_p95_ms)),
         *map(str, (one.before_count, one.during_count, one.after_count))]
        for job in jobs for one in job.loads
    ]  # fmt: skip
    tables = [table(JOB_COLUMNS, rows, text_columns=3)]
    return [*tables, table(LOAD_COLUMNS, around, text_columns=2)] if around else tables


def _text(value: float | None) -> str:
    return UNKNOWN if value is None else units.number_text(round(value, 1))


_STREAM_HEADS = (
    "label", "streams", "events", "events/s", "events/s of the slowest 5 %", "longest gap p50 ms", "longest gap p95 ms",
    "longest gap max ms",
)  # fmt: skip


def stream_table(streams: Sequence[StreamUse]) -> str:
    """Return the table of streamed answers: a row per label; nothing without any."""
    rows = [
        [cell(use.label), str(use.stream_count), str(use.event_count),
         *map(units.rate_text, (use.rate_per_s, use.slow_rate_per_s)),
         *map(units.ms_text, (use.gap_p50_ms, use.gap_p95_ms, use.gap_max_ms))]
        for use in streams
    ]  # fmt: skip
    return table(_STREAM_HEADS, rows) if rows else ""


_AMOUNT_HEADS = ("label", "what", "count", "per s", "took p50 ms", "took p95 ms", "took max ms")


def amount_table(amounts: Sequence[AmountUse]) -> str:
    """Return the table of messages, rows and others: a row per label and kind; nothing without any."""
    rows = [
        [cell(one.label), one.kind, str(one.count), units.rate_text(one.rate_per_s),
         *("" if ms is None else units.ms_text(ms) for ms in (one.p50_ms, one.p95_ms, one.max_ms))]
        for one in amounts
    ]  # fmt: skip
    return table(_AMOUNT_HEADS, rows) if rows else ""


# Texts that only some runs have.
_TITLES = {"trace_id": "trace id", "lock": "lock most waited for", "wait": "where more threads waited than usual"}


def slowest_table(samples: Sequence[SlowSample]) -> str:
    """Return the Markdown table of the slowest samples; columns without any value are left out."""
    is_profiled = any(sample.pause_ms is not None for sample in samples)
    known = [name for name in _TITLES if any(getattr(sample, name) for sample in samples)]
    texts = ("label", "thread", "code", *(_TITLES[name] for name in known))
    during = ("GC pauses ms", "lock waits ms") if is_profiled else ()
    rows = []
    for sample in samples:
        row = [sample.label, sample.thread_name, sample.code, *(getattr(sample, name) for name in known)]
        row = [*map(cell, row), f"{sample.at_s:.1f}", str(sample.elapsed_ms)]
        if is_profiled:
            row += [units.average_text(sample.pause_ms), units.average_text(sample.wait_ms)]
        rows.append([*row, "" if sample.host_cores is None else units.percent_text(sample.host_cores, 0)])
    columns = (*texts, "start s", "ms", *during, "CPU of the host, % of a core")
    return table(columns, rows, text_columns=len(texts))


def slowest_note(samples: Sequence[SlowSample]) -> str:
    """Return which seconds the columns of what happened meanwhile cover."""
    is_profiled = any(sample.pause_ms is not None for sample in samples)
    what = "GC pauses, waits of all threads and CPU are those" if is_profiled else "The CPU is that"
    return f"{what} of the whole seconds from the sample's start to its end."
