"""Tables of where a run ran: machines, load generators, JVM heaps and what lives in them, metrics of processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from harness.base import units
from harness.base.units import MS_PER_S
from harness.metrics.generators import GeneratorFigures
from harness.metrics.metric import elapsed_metrics
from harness.metrics.window import Window
from harness.report.tables import cell, table
from harness.run.telemetry.processes import process_title
from harness.run.telemetry.table import MachineFigure
from harness.system.flight_recording import RecordedUse
from harness.system.heap import HeapUse
from harness.system.histograms import CLASSES_MOST, MIDDLE, LiveHeap
from harness.system.own_metrics import OwnMetrics, OwnMetricUse

_TIMES = elapsed_metrics()
_COLUMNS = (
    "generator", "count", *(metric.title for metric in _TIMES), "errors %", "errors", "req/s", "most users", "first s",
    "last s",
)  # fmt: skip


_megabytes = partial(units.mb_text, decimals=1)
_whole = "{:,.0f}".format


class _Column(NamedTuple):
    """A row of the table: its figure, its title, and the format of its values."""

    figure: str
    title: str
    text: Callable[[float], str]


# Every figure of MACHINE_COLUMNS.
COLUMNS = (
    _Column("iowait_cores", "iowait % of one core", partial(units.percent_text, decimals=1)),
    _Column("runnable_threads", "run queue", "{:.1f}".format),
    _Column("switches_per_s", "context switches/s", _whole),
    _Column("received_bytes_per_s", "received MB/s", _megabytes),
    _Column("sent_bytes_per_s", "sent MB/s", _megabytes),
    _Column("read_bytes_per_s", "disk read MB/s", _megabytes),
    _Column("written_bytes_per_s", "disk written MB/s", _megabytes),
    _Column("cpu_mhz", "CPU MHz", _whole),
)
_UNITS = {"bytes": "MB", "s": "ms"}
_OWN_COLUMNS = ("metric", "unit", "mean", "range", "per s", "in all")


def machine_table(figures: Sequence[MachineFigure]) -> str:
    """Return a row per machine and known figure with mean and range; empty without figures."""
    known_figures = {(figure.process, figure.figure): figure for figure in figures}
    rows = []
    for process in dict.fromkeys(figure.process for figure in figures):
        for column in COLUMNS:
            if figure := known_figures.get((process, column.figure)):
                shown_range = f"{column.text(figure.minimum)}-{column.text(figure.maximum)}"
                rows.append([cell(process_title(process)), column.title, column.text(figure.mean), shown_range])
    return table(("machine", "resource", "mean", "range"), rows, text_columns=2) if rows else ""


def generator_table(generators: Sequence[GeneratorFigures]) -> str:
    """Return a row per load generator; count to req/s cover the measurement window."""
    return table(_COLUMNS, (_row(generator) for generator in generators))


def _row(generator: GeneratorFigures) -> list[str]:
    return [
        cell(generator.name),
        str(generator.sample_count),
        *(metric.text(generator.times_ms.get(metric.key)) for metric in _TIMES),
        units.percent_text(generator.error_ratio),
        str(generator.error_count),
        units.rate_text(generator.rate_per_s),
        "" if generator.most_users is None else str(generator.most_users),
        f"{generator.first_s:.1f}",
        f"{generator.last_s:.1f}",
    ]


def live_heap_text(heap: LiveHeap, window: Window) -> str:
    """Return the title, the table and the notes of one JVM."""
    names = [moment.moment for moment in heap.moments]
    sizes = ", ".join(f"{units.mb_text(moment.live_bytes, 1)} MB at the {moment.moment}" for moment in heap.moments)
    parts = [f"### Live objects of {cell(heap.process)}", f"{sizes}."]
    if heap.classes:
        heads = ["class", *(f"{name} MB" for name in names), "growth MB", *(f"{name} objects" for name in names)]
        rows = []
        for heap_class in heap.classes:
            growth_bytes = heap_class.size_bytes[-1] - heap_class.size_bytes[-2]
            cells = [units.mb_text(size_bytes, 2) for size_bytes in (*heap_class.size_bytes, growth_bytes)]
            rows.append([cell(heap_class.class_name), *cells, *map(str, heap_class.instances)])
        since = f"from the {names[-2]} to the {names[-1]}"
        parts += [table(heads, rows), f"The {CLASSES_MOST} classes that grew most {since} at most; shallow sizes."]
    parts.append(_pauses_text(heap, window))
    return "\n\n".join(parts)


def _pauses_text(heap: LiveHeap, window: Window) -> str:
    """Return that histograms stop the JVM, and whether one did within the window."""
    within = [moment for moment in heap.moments if window.from_s <= moment.at_s < window.to_s]
    pauses = ", ".join(f"at {units.clock_text(moment.at_s)} for up to {moment.took_ms} ms" for moment in within)
    stops = f"within the window {pauses}" if within else "outside of the window"
    middle = ", in the middle of" if any(one.moment == MIDDLE for one in heap.moments) else ""
    taken = f"Histograms were taken before{middle} and after the load."
    return f"{taken} Each forced a full garbage collection, which stopped the JVM: {stops}."


def heap_table(uses: Sequence[HeapUse]) -> str:
    """Return the table of heap sizes, a row per JVM."""
    columns = ("process", "used MB", "range", "committed MB", "range", "reserved MB", "range", "points")
    rows = []
    for use in uses:
        cells = []
        for mean, low, high in (
            (use.used_bytes_mean, use.used_bytes_min, use.used_bytes_max),
            (use.committed_bytes_mean, use.committed_bytes_min, use.committed_bytes_max),
            (use.reserved_bytes_mean, use.reserved_bytes_min, use.reserved_bytes_max),
        ):
            cells += [units.mb_text(mean), "" if low is None else f"{units.mb_text(low)}-{units.mb_text(high)}"]
        rows.append([cell(use.process), *cells, str(use.point_count)])
    return table(columns, rows)


def recorded_table(uses: Sequence[RecordedUse]) -> str:
    """Return the table of collections, pauses and CPU of recorded JVMs; an empty text without any."""
    columns = (
        "process", "before GC MB", "after GC MB", "most after GC MB", "collections", "pauses ms", "longest ms",
        "% of time", "JVM CPU %", "most", "machine CPU %",
    )  # fmt: skip
    rows = []
    for use in uses:
        sizes = (use.used_before_bytes_mean, use.used_after_bytes_mean, use.used_after_bytes_max)
        pauses = [str(use.collection_count), *map(units.average_text, (use.pause_ms, use.longest_ms))]
        paused = units.percent_text(use.pause_ms / MS_PER_S / use.length_s if use.length_s else None)
        ratios = (use.jvm_cpu_ratio_mean, use.jvm_cpu_ratio_max, use.machine_cpu_ratio_mean)
        shares = (units.percent_text(ratio, 1) for ratio in ratios)
        rows.append([cell(use.process), *map(units.mb_text, sizes), *pauses, paused, *shares])
    return table(columns, rows) if uses else ""


def own_metrics_text(found: OwnMetrics) -> str:
    """Return the Markdown of one process: levels with mean and range, totals with their growth."""
    title = f"### {cell(found.process)}"
    if not found.answer_count:
        return f"{title}\n\nNot known: no answer in the measurement window."
    rows = table(_OWN_COLUMNS, [_own_row(use) for use in found.metrics], text_columns=2)
    text = f"Read {found.answer_count} times in the measurement window. *per s* and *in all*: growth of a total."
    return f"{title}\n\n{text}\n\n{rows}"


def _own_row(use: OwnMetricUse) -> list[str]:
    if use.growth is not None:
        return [cell(use.name), _unit(use), "", "", _text(use.mean, use.unit), _text(use.growth, use.unit)]
    low, high = _text(use.minimum, use.unit), _text(use.maximum, use.unit)
    return [cell(use.name), _unit(use), _text(use.mean, use.unit), f"{low}-{high}", "", ""]


def _unit(use: OwnMetricUse) -> str:
    return _UNITS.get(use.unit, use.unit)


def _text(value: float | None, unit: str) -> str:
    """Return a value in its shown unit: MB, ms with two decimals below 10, numbers with up to two decimals."""
    if value is None:
        return ""
    if unit == "bytes":
        return units.mb_text(value, 1)
    if unit == "s":
        return units.average_text(value * units.MS_PER_S)
    return units.average_text(value) if unit == "ms" else units.number_text(round(value, 2))
