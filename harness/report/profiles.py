"""The profile of a JVM as Markdown: methods, locks, exceptions, allocations, pauses and threads."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from harness.base import units
from harness.base.units import MS_PER_S, average_text, mb_text
from harness.judge.summary import RunSummary
from harness.metrics.figures import LOAD
from harness.report.tables import cell, table
from harness.system.profile import SAMPLES_LEAST, ProcessProfile
from harness.system.profile_events import JFR
from harness.system.statements import DatabaseUse, StatementUse

# Of the section with the profiles, in the report of a run.
ANCHOR = "where-the-time-went"
# Reading fewer rows without an index is what a database does with small tables.
_ROWS_LEAST = 100
_END_CHARACTERS = 60
_WITHOUT_INDEX, _INDEX_COLUMN = "without index each", "count_without_index"


def profile_text(profile: ProcessProfile, folder: str) -> str:
    """Return the Markdown of one process; a part without events is one sentence or is left out.

    `folder` contains the flame graphs.
    """
    parts = (
        _methods,
        _virtual,
        _locks,
        _other_waits,
        _exceptions,
        _allocations,
        _collections,
        _safepoints,
        _pools,
        _waits,
        _costs,
    )
    texts = [part(profile) for part in parts]
    return "\n\n".join(filter(None, [f"### {cell(profile.process)}", *texts, _flame_graphs(profile, folder)]))


def _methods(profile: ProcessProfile) -> str:
    count = profile.sample_count
    if count < SAMPLES_LEAST:
        known = f"only {units.plural(count, 'sample')} of running threads"
        return f"Hottest methods: not known: {known}; shares need {SAMPLES_LEAST}."
    rows = [
        [cell(use.method), _percent(use.self_count, count), _percent(use.total_count, count)] for use in profile.methods
    ]
    return f"{_sampling(profile)}\n\n{table(('method', 'self %', 'with what it calls %'), rows)}"


def _sampling(profile: ProcessProfile) -> str:
    text = f"Hottest methods: share of {profile.sample_count} samples of"
    period = units.number_text(profile.sample_period_ms)
    if profile.recorder != JFR:
        text = f"{text} CPU time, one every {period} ms of each thread, the JVM's own too ({cell(profile.recorder)})"
        return f"{text}. Native code counts for the method that called it."
    text = f"{text} running Java threads, taken every {period} ms"
    return f"{text} by JFR, because {cell(profile.no_agent)}." if profile.no_agent else f"{text}."


def _virtual(profile: ProcessProfile) -> str:
    virtual = profile.virtual
    if not virtual:
        return ""
    text = f"Virtual threads: up to {virtual.most_count} at a time."
    if virtual.problem:
        return f"{text} What they waited for is not known: {cell(virtual.problem)}."
    period, cost = units.number_text(virtual.sample_period_ms), units.percent_text(virtual.cost_ratio, 1)
    return f"{text} Their waits were sampled every {period} ms by thread dumps, which took {cost} % of a core."


def _costs(profile: ProcessProfile) -> str:
    if not profile.costs:
        return ""
    parts = [f"{cost.part} {units.percent_text(cost.ratio, 1)} %" for cost in profile.costs]
    whole = units.percent_text(sum(cost.ratio for cost in profile.costs), 1)
    return f"Profiling took {whole} % of its CPU time, or of one core if that is more: {', '.join(parts)}."


def _locks(profile: ProcessProfile) -> str:
    if not profile.locks:
        if profile.virtual and profile.virtual.problem:
            return "Locks: not known for virtual threads; no other thread waited 1 ms or longer for one."
        return "Locks: no thread waited 1 ms or longer for one."
    rows = []
    for wait in profile.locks:
        times = map(average_text, (wait.total_ms, wait.longest_ms))
        rows.append([*map(cell, (wait.lock, wait.method, wait.holder)), str(wait.count), *times])
    waiting = profile.wait_ms / MS_PER_S / profile.length_s
    text = f"Locks: on average {waiting:.2f} threads waited for one, counting waits of 1 ms and longer."
    columns = ("lock", "waited at", "held by", "waits", "all ms", "longest ms")
    return f"{text}\n\n{table(columns, rows, text_columns=3)}"


def _other_waits(profile: ProcessProfile) -> str:
    if not profile.other_waits:
        return ""
    rows = []
    for wait in profile.other_waits:
        times = map(average_text, (wait.total_ms, wait.longest_ms))
        rows.append([*map(cell, (wait.kind, wait.blocker, wait.method)), str(wait.count), *times])
    columns = ("kind", "class", "waited at", "waits", "all ms", "longest ms")
    text = "Other waits of 1 ms and longer, of threads with work; latches include semaphores, futures and queues."
    return f"{text}\n\n{table(columns, rows, text_columns=3)}"


def database_text(used: DatabaseUse, request_count: int) -> str:
    """Return the Markdown of a database; `request_count` is the number of samples of the whole load.

    Statements that control transactions and connections are in a second table: they wait for the log, not for rows.
    """
    if not used.statements:
        return f"### {cell(used.process)}\n\nStatements: none{_of_interval(used) if used.interval else ''}."
    queries, controls = ([use for use in used.statements if use.is_control is one] for one in (False, True))
    text = _statements_text(used, request_count)
    statements = f"### {cell(used.process)}\n\n{text}\n\n{_statement_table(queries or controls, used)}"
    if queries and controls:
        statements += f"\n\nOf transactions and connections:\n\n{_statement_table(controls, used)}"
    return "\n\n".join(filter(None, [statements, _not_of_interval(used), _without_index(used), _database_waits(used)]))


def _statement_table(statements: Sequence[StatementUse], used: DatabaseUse) -> str:
    """Return a table of statements; columns without a value are left out, and those per request without an interval."""
    columns: list[tuple[str, list[str]]] = [
        ("statement", [cell(use.statement) for use in statements]),
        ("count", [str(use.count) for use in statements]),
        ("count per request", [_per_request(use.count, used) for use in statements]),
        ("all ms", [average_text(use.total_ms) for use in statements]),
        ("ms per request", [_per_request(use.total_ms, used) for use in statements]),
        ("mean ms", [average_text(use.mean_ms) for use in statements]),
        ("longest ms", [_longest(use) for use in statements]),
        ("rows examined each", [_each(use.rows_examined, use.count) for use in statements]),
        (_WITHOUT_INDEX, [_each(use.count_without_index, use.count) for use in statements]),
        ("pages each", [_each(use.page_count, use.count) for use in statements]),
        ("lock ms", [average_text(use.lock_ms) for use in statements]),
    ]
    known = [(title, cells) for title, cells in columns if any(cells)]
    return table([title for title, _ in known], zip(*(cells for _, cells in known), strict=True))


def _statements_text(used: DatabaseUse, request_count: int) -> str:
    where = _of_interval(used) if used.interval else " in the whole load"
    of_what = "request" if used.interval else "sample of the load"
    requests = used.request_count(request_count)
    per_request = f", {used.count / requests:.1f} per {of_what}" if requests else ""
    why = f" They are not those of the window: {cell(used.no_interval)}." if used.no_interval else ""
    together = f"together {average_text(used.total_ms)} ms"
    return f"Statements: {used.count}{where}{per_request}; {together}.{why} Those that took most time:"


def _of_interval(used: DatabaseUse) -> str:
    assert used.interval
    from_s, to_s = used.interval.from_s, used.interval.to_s
    length, first, last = (units.number_text(round(seconds, 1)) for seconds in (to_s - from_s, from_s, to_s))
    requests = units.plural(used.interval.request_count, "request")
    interval = f"from {first} s to {last} s after the start of the load"
    return f" in {length} s of the window, {interval}, in which {requests} ended"


def _not_of_interval(used: DatabaseUse) -> str:
    """Return the sentences about columns that the database does not know of the interval alone."""
    texts = []
    if used.interval and any(use.longest_is_bound for use in used.statements):
        texts.append("Longest with ≤: the longest so far, from before the interval, in which none took longer.")
    if _INDEX_COLUMN in used.of_whole_load:
        texts.append(f"*{_WITHOUT_INDEX}* is the share in the whole load: the database reports it only after the load.")
    return " ".join(texts)


def _longest(use: StatementUse) -> str:
    text = average_text(use.longest_ms)
    return f"≤ {text}" if text and use.longest_is_bound else text


def _per_request(value: float, used: DatabaseUse) -> str:
    requests = used.interval.request_count if used.interval else 0
    return f"{value / requests:.2f}" if requests else ""


def _without_index(used: DatabaseUse) -> str:
    """Return the sentence that names the statements that read whole tables, unless these are known to be small."""
    texts = []
    for use in used.statements:
        is_small = use.rows_examined is not None and use.rows_examined < _ROWS_LEAST * use.count
        if is_small or not use.count_without_index or 2 * use.count_without_index < use.count:
            continue
        rows = "" if use.rows_examined is None else f", {_each(use.rows_examined, use.count)} rows each"
        texts.append(f"{cell(_ends(use.statement))} ({use.count_without_index} of {use.count} executions{rows})")
    return f"Read without an index: {'; '.join(texts)}." if texts else ""


def _ends(statement: str) -> str:
    """Return beginning and end of a statement: these have its kind, and its tables and conditions."""
    if len(statement) <= 2 * _END_CHARACTERS:
        return statement
    return f"{statement[:_END_CHARACTERS]} … {statement[-_END_CHARACTERS:]}"


def _database_waits(used: DatabaseUse) -> str:
    if not used.waits:
        return ""
    where = "in the same interval" if used.interval else "in the whole load"
    rows = []
    for wait in used.waits:
        times = map(average_text, (wait.total_ms, wait.total_ms / wait.count))
        rows.append([cell(wait.name), str(wait.count), *times, *filter(None, [_per_request(wait.total_ms, used)])])
    heads = ("wait", "count", "all ms", "mean ms", "ms per request")[: len(rows[0])]
    return f"What its threads waited for {where}, the longest in all first:\n\n{table(heads, rows)}"


def _each(total: int | None, count: int) -> str:
    return "" if total is None else f"{total / count:.1f}"


def _allocations(profile: ProcessProfile) -> str:
    if not profile.allocated_bytes:
        return ""
    rows = []
    for made in profile.allocations:
        per_s = mb_text(made.bytes_estimated / profile.length_s, 1)
        share = _percent(made.bytes_estimated, profile.allocated_bytes)
        rows.append([cell(made.object_class), cell(made.method), per_s, share])
    text = f"Allocations: about {mb_text(profile.allocated_bytes / profile.length_s, 1)} MB/s, estimated from samples."
    return f"{text}\n\n{table(('class', 'allocated at', 'MB/s', '%'), rows, text_columns=2)}"


def _collections(profile: ProcessProfile) -> str:
    collections = profile.collections
    if not collections.count:
        return "Garbage collections: none."
    share = units.percent_text(collections.pause_ms / MS_PER_S / profile.length_s, 2)
    pauses = f"pauses {average_text(collections.pause_ms)} ms in all ({share} % of the window)"
    return f"Garbage collections: {collections.count}, {pauses}, the longest {average_text(collections.longest_ms)} ms."


def _exceptions(profile: ProcessProfile) -> str:
    if not profile.thrown:
        return "Exceptions: none." if profile.safepoints else ""
    rows = [[cell(one.exception), cell(one.method), str(one.count)] for one in profile.thrown]
    text = f"Exceptions: {profile.thrown_count} created, caught ones included, and those that wrap another, too."
    return f"{text}\n\n{table(('exception', 'created at', 'count'), rows, text_columns=2)}"


def _safepoints(profile: ProcessProfile) -> str:
    safepoints = profile.safepoints
    if safepoints is None:
        return ""
    if not safepoints.count:
        return "Safepoints: none."
    share = units.percent_text(safepoints.total_ms / MS_PER_S / profile.length_s, 2)
    stopped = f"all threads stopped for {average_text(safepoints.total_ms)} ms in all ({share} % of the window"
    longest = f"the longest {average_text(safepoints.longest_ms)} ms ({cell(safepoints.longest_operation)})"
    return f"Safepoints: {safepoints.count}, {stopped}, pauses of garbage collections included), {longest}."


def _pools(profile: ProcessProfile) -> str:
    if not profile.pools:
        return ""
    rows = []
    for pool in profile.pools:
        ratios = (pool.running_ratio, pool.lock_ratio, pool.waiting_ratio, pool.idle_ratio, pool.full_ratio)
        shares = (units.percent_text(ratio, 1) for ratio in ratios)
        rows.append([cell(pool.name), f"{pool.thread_count:.1f}", *shares])
    columns = ("pool", "threads", "running %", "waiting for locks %", "waiting otherwise %", "idle %", "none idle %")
    text = (
        "Thread pools: mean number of threads, shares of their time, and share of the seconds in which no thread was "
        "idle. Waiting otherwise is I/O, sleep and the like, with work at hand."
    )
    return f"{text}\n\n{table(columns, rows)}"


def _waits(profile: ProcessProfile) -> str:
    if not profile.waits:
        return ""
    rows = [[cell(wait.method), cell(wait.waited_in), f"{wait.thread_count:.2f}"] for wait in profile.waits]
    text = "Where threads with work waited, for locks and otherwise: mean number of threads."
    return f"{text}\n\n{table(('waited at', 'in', 'threads'), rows, text_columns=2)}"


def profile_links(run: str, folder: str, profiles: Sequence[ProcessProfile]) -> str:
    """Return links to the profiles in the report of a run and to its flame graphs.

    `folder` is the run's directory from the page of the links, with the report beside it.
    """
    report = f"[{cell(run)}]({quote(folder)}.md#{ANCHOR})"
    graphs = [f"{cell(one.process)} {_graph_links(one, folder)}" for one in profiles if one.flame_graphs]
    return f"{report} (flame graphs: {'; '.join(graphs)})" if graphs else report


def _flame_graphs(profile: ProcessProfile, folder: str) -> str:
    links = _graph_links(profile, folder)
    return f"Flame graphs of the window: {links}." if links else ""


def _graph_links(profile: ProcessProfile, folder: str) -> str:
    """Return links to the flame graphs; their kind is the last word of their name."""
    kinds = ((name.removesuffix(".html").rpartition("-")[2], name) for name in profile.flame_graphs)
    return ", ".join(f"[{kind}]({quote(folder)}/{quote(name)})" for kind, name in kinds)


def _percent(part: int, whole: int) -> str:
    return units.percent_text(part / whole, 1)


def request_count(summary: RunSummary) -> int:
    """Return the number of samples of the load in the whole run."""
    load = summary.whole or summary.group(LOAD)
    return load.total.sample_count if load else 0
