"""Reads run directories and JTLs; writes the JSON and Markdown of a run beside its directory, and its charts in it."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from itertools import chain

from harness.base.errors import HarnessError, UsageError
from harness.base.units import MS_PER_S
from harness.jtl.sample import Dropped
from harness.judge.growth import is_constant, with_cloud
from harness.judge.jobs import jobs_of_run
from harness.judge.loads import LoadTally
from harness.judge.slowest import explained, slowest_samples
from harness.judge.stored_comparisons import FORMAT_VERSION as COMPARED_VERSION
from harness.judge.stored_comparisons import ComparedGroup, ComparedRun
from harness.judge.summarise import SummaryOptions, origin_of, summarise, window_of, window_span_ms
from harness.judge.summary import Observed, RunSummary
from harness.judge.tail import generator_stops, tails_of
from harness.metrics import amounts, event_streams
from harness.metrics.beside import BesideFigures, read_beside
from harness.metrics.counter_process import shared_counter
from harness.metrics.files import each_sample, read_samples
from harness.metrics.interval import IntervalMs
from harness.metrics.resource_growth import growths
from harness.metrics.tally import SampleTally
from harness.metrics.window import STEADY_WINDOW, Window
from harness.report.charts.chart import write_charts
from harness.report.charts.run_charts import file_names, run_charts
from harness.report.exchanges import failures_page, stored_failures
from harness.report.jtls import counted_tally, silences_of, with_successful
from harness.report.key_figures import result_of
from harness.report.markdown import report
from harness.report.pages import write_page
from harness.report.results import chart_path
from harness.run.counted import CountedRun, count_run, jtls_of
from harness.run.directory import RunDirectory, json_text, load_record, write_whole
from harness.run.jmeter.exchanges import Exchange, parse_exchanges
from harness.run.record import RunRecord
from harness.run.recorders import read_all
from harness.system.profile_events import FILE_NAME as PROFILE
from harness.system.recorder import Reading
from harness.system.thread_times import read_thread_times


@shared_counter()
def summary_of_run(
    directory: RunDirectory, counted: CountedRun | None = None, *, may_write: bool = False
) -> RunSummary:
    """Return the summary of a run: from its samples, or from its JSON without samples.

    With `counted` its samples have been counted. If it `may_write`, the flame graphs of its profiles are written again.
    UsageError while the run goes on.
    """
    counted = counted or count_run(directory)
    if counted is None:
        if directory.summary_json.is_file():
            return load_record(RunSummary, directory.summary_json)
        todo = "name a run's folder, or make a run of a file with samples: --into reports/PLAN/run-01_1"
        raise UsageError(f"{directory.path}: not a run: no run.json, and no JSON beside it", todo)
    run, tally, inputs = counted.run, counted.tally, counted.inputs
    directory.refuse_running(run)
    window = window_of(tally, STEADY_WINDOW, run)
    in_window = counted_tally(inputs, tally, window, counted.scope)
    observed = _observed(directory, run, tally, window, may_write=may_write)
    loads = [LoadTally.of(load, tally, in_window) for load in run.load.loads or ()]
    names, silences = [name for name, _ in counted.jtls], silences_of(inputs, tally, run.once_labels)
    jobs = jobs_of_run(run, lambda: (sample for _, sample in each_sample(inputs)), tally.span_ms())
    options = SummaryOptions(
        window, in_window, file_names=names, loads=loads, silences=silences, jobs=jobs,
        beside=_beside(directory, run, tally, window),
    )  # fmt: skip
    summary = summarise(tally, run.id, run, observed, options)
    compared = load_record(ComparedGroup, directory.compared).compared if directory.compared.is_file() else ()
    return replace(summary, stored_failures=stored_failures(stored_exchanges(directory)), compared=compared)


def _beside(directory: RunDirectory, run: RunRecord, tally: SampleTally, window: Window) -> BesideFigures | None:
    window_ms = window_span_ms(tally, window)
    if window_ms is None or not window_ms.length_ms:
        return None
    of = Reading(directory.path, directory.system_logs, run.exception_logs, tally, window)
    return read_beside(of.lines(amounts.FILE_NAME), of.lines(event_streams.FILE_NAME), window_ms)


def _observed(
    directory: RunDirectory, run: RunRecord, tally: SampleTally, window: Window, *, may_write: bool = False
) -> Observed:
    """Return the observations other than samples; without a load, nothing about machine and heap.

    If it `may_write`, files that belong to an observation are written again, such as flame graphs.
    """
    of = Reading(directory.path, directory.system_logs, run.exception_logs, tally, window, may_write)
    origin_s, span_ms, window_ms = origin_of(tally), tally.span_ms(), window_span_ms(tally, window)
    if origin_s is None or span_ms is None or window_ms is None:
        return Observed(**read_all(of))
    run_ms = IntervalMs(origin_s * MS_PER_S, span_ms.to_ms)
    of = replace(of, has_load=True, origin_s=origin_s, run_ms=run_ms, window_ms=window_ms)
    observed = Observed(**read_all(of))
    grown = growths(of.resources, window_ms.length_ms / MS_PER_S) if is_constant(run) else ()
    observed = replace(observed, growths=with_cloud(grown, observed.cloudwatch, window, run))
    if of.events is None and not run.is_traced:
        return observed
    samples = (sample for _, path in jtls_of(directory, run) for sample in read_samples(path, Dropped()))
    slowest = slowest_samples(samples, run.once_labels, window_ms)
    slow = explained(slowest, of.events, observed.usage_series, origin_s)
    samples = (sample for _, path in jtls_of(directory, run) for sample in read_samples(path, Dropped()))
    times = read_thread_times(of.lines(PROFILE))
    stalls = run.wake_delays.stalls if run.wake_delays else ()
    # Of several generators is not known which one sent a sample.
    still = generator_stops(observed.stops, stalls, origin_s) if not run.generators else []
    tails = tails_of(samples, run.once_labels, window_ms, times, still, origin_s)
    return replace(observed, slowest=slow, tails=tails)


def stored_summary(directory: RunDirectory) -> RunSummary:
    """Return the summary in the JSON of a run; it is computed if there is no JSON."""
    path = directory.summary_json
    return load_record(RunSummary, path) if path.is_file() else summary_of_run(directory)


def stored_exchanges(directory: RunDirectory) -> tuple[Exchange, ...]:
    """Return the failed requests that the run stored, with their responses."""
    path = directory.failures
    return parse_exchanges(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else ()


def write_report(directory: RunDirectory, counted: CountedRun | None = None, *, successful: bool = False) -> RunSummary:
    """Write the run's JSON, charts and Markdown and return the summary; the same samples give the same bytes.

    With `counted` its samples have been counted. With `successful` a table has the successful samples of the load.
    """
    counted = counted or count_run(directory)
    summary = summary_of_run(directory, counted, may_write=True)
    if successful:
        if counted is None:
            raise UsageError(
                f"--successful: {directory.plan}/{directory.name} has no samples", "pull the run with them"
            )
        summary = with_successful(summary, counted.inputs, counted.tally, counted.scope)
    return write_summary(directory, summary)


def write_missing_report(directory: RunDirectory) -> None:
    """Write the report of a run whose harness was killed before it could; nothing for any other run.

    A run that cannot be read stays without a report: the next command that reads it reports the cause.
    """
    if directory.run_json.is_file() and not directory.report.is_file():
        with contextlib.suppress(HarnessError):
            write_report(directory)


def write_summary(directory: RunDirectory, summary: RunSummary) -> RunSummary:
    """Write a summary with its result as the run's JSON, charts and Markdown, and return it.

    The notes block of an existing report is preserved; its charts that no longer have data are deleted.
    """
    charts = run_charts(summary)
    first = chart_path(directory.name, chain.from_iterable(charts.values()))
    summary = replace(summary, result=result_of(summary, first))
    write_whole(directory.summary_json, json_text(summary))
    if exchanges := stored_exchanges(directory):
        write_whole(directory.failures_page, failures_page(summary, exchanges))
    write_charts(directory.path, [chart for found in charts.values() for chart in found], file_names())
    note = summary.run.note if summary.run else ""
    write_page(directory.report, lambda notes: report(summary, charts, notes, directory.name), note)
    return summary


def add_comparisons(directory: RunDirectory, summary: RunSummary, compared: tuple[ComparedRun, ...]) -> RunSummary:
    """Store what a run was compared with at its end, write its report again and return its summary."""
    if not compared:
        return summary
    write_whole(directory.compared, json_text(ComparedGroup(COMPARED_VERSION, compared)))
    return write_summary(directory, replace(summary, compared=compared))
