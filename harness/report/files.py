"""Reads run directories and JTLs; writes the JSON and Markdown of a run beside its directory, and its charts in it."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Mapping
from dataclasses import replace

from harness.base import units
from harness.base.errors import HarnessError, UsageError
from harness.cloudwatch.points import CloudMetrics, read_cloudwatch
from harness.jtl.sample import Dropped
from harness.metrics.counter_process import shared_counter
from harness.metrics.files import read_samples
from harness.metrics.growth import ResourceSeries, growths
from harness.metrics.interval import IntervalMs
from harness.metrics.tally import SampleTally
from harness.metrics.window import Window, parse_window
from harness.report.charts.chart import write_charts
from harness.report.charts.run_charts import file_names, run_charts
from harness.report.failures import failures_page, stored_failures
from harness.report.growth import is_constant, with_cloud
from harness.report.jtls import counted_tally, silences_of
from harness.report.loads import LoadTally
from harness.report.markdown import report
from harness.report.pages import write_page
from harness.report.slowest import explained, slowest_samples
from harness.report.stored_comparisons import FORMAT_VERSION as COMPARED_VERSION
from harness.report.stored_comparisons import ComparedRun, ComparedRuns
from harness.report.summarise import SummaryOptions, origin_of, summarise, window_of, window_span_ms
from harness.report.summary import Observed, RunSummary
from harness.run.counted import CountedRun, count_run, jtls_of
from harness.run.directory import RunDirectory, json_text, load_record, write_whole
from harness.run.exchanges import Exchange, parse_exchanges
from harness.run.record import RunRecord
from harness.run.telemetry import read_telemetry
from harness.system.database_files import databases
from harness.system.exceptions import ExceptionCount, count_exceptions, most_frequent
from harness.system.heap import heap_after_gc, heap_series, heap_uses, read_heaps
from harness.system.histograms import Histogram, forced_ms, live_heaps, read_histograms
from harness.system.own_metrics_files import own_metrics
from harness.system.profile import ProcessProfile, profiles
from harness.system.profile_events import Events, read_events
from harness.system.profile_files import flame_graphs, recording_name, write_flame_graphs
from harness.system.recording import read_recordings, recorded_uses
from harness.system.statements import DatabaseUse, StatementInterval

STEADY_WINDOW = parse_window("steady")


@shared_counter()
def summary_of_run(directory: RunDirectory, counted: CountedRun | None = None) -> RunSummary:
    """Return the summary of a run: from its samples, or from its JSON without samples.

    With `counted` its samples have been counted.
    """
    counted = counted or count_run(directory)
    if counted is None:
        if directory.summary_json.is_file():
            return load_record(RunSummary, directory.summary_json)
        raise UsageError(f"{directory.path}: not a run: no run.json, and no JSON beside it", "name a run's folder")
    run, tally, inputs = counted.run, counted.tally, counted.inputs
    window = window_of(tally, STEADY_WINDOW, run)
    in_window = counted_tally(inputs, tally, window, counted.scope)
    observed = _observed(directory, run, _run_ms(tally), window_span_ms(tally, window))
    cloudwatch = observed_cloudwatch(directory, origin_of(tally), window)
    observed = replace(
        observed,
        cloudwatch=cloudwatch,
        growths=with_cloud(observed.growths, cloudwatch, window, run),
        databases=_databases(directory, tally, window_span_ms(tally, window)),
    )
    options = SummaryOptions(
        window,
        in_window,
        file_names=[name for name, _ in counted.jtls],
        loads=[LoadTally.of(load, tally, in_window) for load in run.load.loads or ()],
        silences=silences_of(inputs, tally, run.once_labels),
    )
    summary = summarise(tally, run.id, run, observed, options)
    return replace(summary, stored_failures=stored_failures(stored_exchanges(directory)), compared=_compared(directory))


def _compared(directory: RunDirectory) -> tuple[ComparedRun, ...]:
    """Return what the run was compared with when it ended; empty without anything."""
    path = directory.compared
    return load_record(ComparedRuns, path).compared if path.is_file() else ()


def stored_exchanges(directory: RunDirectory) -> tuple[Exchange, ...]:
    """Return the failed requests that the run stored, with their responses."""
    path = directory.failures
    return parse_exchanges(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else ()


def _run_ms(tally: SampleTally) -> IntervalMs | None:
    """Return the time from the start (a whole second) to the last end of the load; None without samples of the load."""
    origin_s, span_ms = origin_of(tally), tally.span_ms()
    return IntervalMs(origin_s * units.MS_PER_S, span_ms.to_ms) if origin_s is not None and span_ms else None


def _observed(
    directory: RunDirectory, run: RunRecord, run_ms: IntervalMs | None, window_ms: IntervalMs | None
) -> Observed:
    """Return the observations other than samples; without a load, nothing about machine and heap."""
    found = _exceptions(directory, run)
    if run_ms is None or window_ms is None:
        return found
    resources: list[ResourceSeries] = []
    histograms = _histograms(directory)
    origin_s = run_ms.from_ms // units.MS_PER_S
    found = replace(found, live_heaps=live_heaps(histograms, origin_s))
    if directory.telemetry.is_file():
        with directory.telemetry.open(encoding="utf-8", errors="replace") as lines:
            telemetry = read_telemetry(lines, run_ms, window_ms)
        resources += telemetry.resources
        found = replace(
            found,
            usages=telemetry.usages,
            usage_series=telemetry.series,
            machine_figures=telemetry.machines,
            stops=telemetry.stops,
        )
    if directory.heap.is_file():
        with directory.heap.open(encoding="utf-8", errors="replace") as lines:
            heaps = read_heaps(lines)
        resources += heap_after_gc(heaps, *window_ms, forced_ms(histograms))
        found = replace(found, heap_uses=heap_uses(heaps, *window_ms), heap_series=heap_series(heaps, *run_ms))
    if is_constant(run):
        found = replace(found, growths=growths(resources, window_ms.length_ms / units.MS_PER_S))
    if directory.recording.is_file():
        with directory.recording.open(encoding="utf-8", errors="replace") as lines:
            found = replace(found, recorded=recorded_uses(read_recordings(lines), *window_ms))
    if directory.profile.is_file():
        with gzip.open(directory.profile, "rt", encoding="utf-8", errors="replace") as lines:
            found = _with_profile(directory, run, read_events(lines), found, window_ms, origin_s)
    elif run.is_traced:
        found = _with_profile(directory, run, None, found, window_ms, origin_s)
    return replace(found, own_metrics=own_metrics(directory.system_logs, *window_ms))


def _databases(directory: RunDirectory, tally: SampleTally, window_ms: IntervalMs | None) -> tuple[DatabaseUse, ...]:
    """Return the statements of databases, of the window as far as snapshots know them; without a load, nothing."""
    origin_s = origin_of(tally)
    if origin_s is None or window_ms is None:
        return ()
    origin_ms = origin_s * units.MS_PER_S

    def interval_of(from_ms: int, to_ms: int) -> StatementInterval:
        from_s, to_s = (round((at_ms - origin_ms) / units.MS_PER_S, 1) for at_ms in (from_ms, to_ms))
        return StatementInterval(from_s, to_s, tally.second_series.ended_between(from_ms, to_ms))

    return databases(directory.system_logs, *window_ms, interval_of)


def _histograms(directory: RunDirectory) -> tuple[Histogram, ...]:
    """Return the heap histograms of a soak; empty for any other run."""
    if not directory.histograms.is_file():
        return ()
    with gzip.open(directory.histograms, "rt", encoding="utf-8", errors="replace") as lines:
        return read_histograms(lines)


def _with_profile(
    directory: RunDirectory,
    run: RunRecord,
    events: Mapping[str, Events] | None,
    found: Observed,
    window_ms: IntervalMs,
    origin_s: int,
) -> Observed:
    """Return the observations with profiles of the window, and the slowest samples.

    Without `events`, as of a run that was only traced, the slowest samples alone are added.
    """
    samples = (sample for _, path in jtls_of(directory, run) for sample in read_samples(path, Dropped()))
    slowest = slowest_samples(samples, run.once_labels, window_ms)
    return replace(
        found,
        profiles=tuple(
            replace(profile, flame_graphs=flame_graphs(directory.path, profile))
            for profile in profiles(events or {}, *window_ms)
        ),
        slowest=explained(slowest, events, found.usage_series, origin_s),
    )


def observed_cloudwatch(directory: RunDirectory, origin_s: int | None, window: Window) -> CloudMetrics | None:
    """Return the CloudWatch metrics of a run; None if nothing was fetched, or there was no load."""
    if origin_s is None or not directory.cloudwatch.is_file():
        return None
    with directory.cloudwatch.open(encoding="utf-8", errors="replace", newline="") as lines:
        return read_cloudwatch(lines, origin_s, window)


def _exceptions(directory: RunDirectory, run: RunRecord) -> Observed:
    counts: list[ExceptionCount] = []
    missing = []
    for name in run.exception_logs:
        try:
            with (directory.system_logs / name).open(encoding="utf-8", errors="replace") as lines:
                counts += count_exceptions(lines, name)
        except OSError:
            missing.append(name)
    frequent = most_frequent(counts)
    left_out = frequent.left_out_count
    return Observed(exceptions=frequent.kinds, exception_kinds_left_out=left_out, missing_logs=tuple(missing))


def write_report(directory: RunDirectory, counted: CountedRun | None = None) -> RunSummary:
    """Write the run's JSON, charts and Markdown and return the summary; the same samples give the same bytes.

    With `counted` its samples have been counted.
    """
    summary = _with_flame_graphs(directory, summary_of_run(directory, counted))
    write_summary(directory, summary)
    return summary


def _with_flame_graphs(directory: RunDirectory, summary: RunSummary) -> RunSummary:
    """Write the flame graphs of each profile that has a recording; return the summary with their names."""
    if summary.origin_s is None:
        return summary
    first_s, last_s = (summary.origin_s + second for second in (summary.window.from_s, summary.window.to_s))

    def drawn(profile: ProcessProfile) -> ProcessProfile:
        recording = directory.system_logs / recording_name(profile.process)
        if not recording.is_file():
            return profile
        write_flame_graphs(directory.path, profile, recording, first_s * units.MS_PER_S, last_s * units.MS_PER_S)
        return replace(profile, flame_graphs=flame_graphs(directory.path, profile))

    observed = summary.observed
    return replace(summary, observed=replace(observed, profiles=tuple(map(drawn, observed.profiles))))


def write_missing_report(directory: RunDirectory) -> None:
    """Write the report of a run whose harness was killed before it could; nothing for any other run.

    A run that cannot be read stays without a report: the next command that reads it reports the cause.
    """
    if directory.run_json.is_file() and not directory.report.is_file():
        with contextlib.suppress(HarnessError):
            write_report(directory)


def write_summary(directory: RunDirectory, summary: RunSummary) -> None:
    """Write a summary as the run's JSON, charts and Markdown.

    The notes block of an existing report is preserved; its charts that no longer have data are deleted.
    """
    write_whole(directory.summary_json, json_text(summary))
    if exchanges := stored_exchanges(directory):
        write_whole(directory.failures_page, failures_page(summary, exchanges))
    charts = run_charts(summary)
    write_charts(directory.path, [chart for found in charts.values() for chart in found], file_names())
    note = summary.run.note if summary.run else ""
    write_page(directory.report, lambda notes: report(summary, charts, notes, directory.name), note)


def add_comparisons(directory: RunDirectory, summary: RunSummary, compared: tuple[ComparedRun, ...]) -> RunSummary:
    """Store what a run was compared with at its end, write its report again and return its summary."""
    if not compared:
        return summary
    write_whole(directory.compared, json_text(ComparedRuns(COMPARED_VERSION, compared)))
    summary = replace(summary, compared=compared)
    write_summary(directory, summary)
    return summary
