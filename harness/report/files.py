"""Reads run directories and JTLs; writes the JSON and Markdown of a run beside its directory, and its charts in it."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from harness.base.errors import HarnessError, UsageError
from harness.metrics.counter_process import shared_counter
from harness.metrics.window import parse_window
from harness.report.charts.chart import write_charts
from harness.report.charts.run_charts import file_names, run_charts
from harness.report.failures import failures_page, stored_failures
from harness.report.jtls import counted_tally, silences_of
from harness.report.loads import LoadTally
from harness.report.markdown import report
from harness.report.observations import observed_of
from harness.report.pages import write_page
from harness.report.stored_comparisons import FORMAT_VERSION as COMPARED_VERSION
from harness.report.stored_comparisons import ComparedRun, ComparedRuns
from harness.report.summarise import SummaryOptions, summarise, window_of
from harness.report.summary import RunSummary
from harness.run.counted import CountedRun, count_run
from harness.run.directory import RunDirectory, json_text, load_record, write_whole
from harness.run.exchanges import Exchange, parse_exchanges

STEADY_WINDOW = parse_window("steady")


@shared_counter()
def summary_of_run(
    directory: RunDirectory, counted: CountedRun | None = None, *, may_write: bool = False
) -> RunSummary:
    """Return the summary of a run: from its samples, or from its JSON without samples.

    With `counted` its samples have been counted. If it `may_write`, the flame graphs of its profiles are written again.
    """
    counted = counted or count_run(directory)
    if counted is None:
        if directory.summary_json.is_file():
            return load_record(RunSummary, directory.summary_json)
        raise UsageError(f"{directory.path}: not a run: no run.json, and no JSON beside it", "name a run's folder")
    run, tally, inputs = counted.run, counted.tally, counted.inputs
    window = window_of(tally, STEADY_WINDOW, run)
    in_window = counted_tally(inputs, tally, window, counted.scope)
    observed = observed_of(directory, run, tally, window, may_write=may_write)
    loads = [LoadTally.of(load, tally, in_window) for load in run.load.loads or ()]
    names, silences = [name for name, _ in counted.jtls], silences_of(inputs, tally, run.once_labels)
    options = SummaryOptions(window, in_window, file_names=names, loads=loads, silences=silences)
    summary = summarise(tally, run.id, run, observed, options)
    compared = load_record(ComparedRuns, directory.compared).compared if directory.compared.is_file() else ()
    return replace(summary, stored_failures=stored_failures(stored_exchanges(directory)), compared=compared)


def stored_summary(directory: RunDirectory) -> RunSummary:
    """Return the summary in the JSON of a run; it is computed if there is no JSON."""
    path = directory.summary_json
    return load_record(RunSummary, path) if path.is_file() else summary_of_run(directory)


def stored_exchanges(directory: RunDirectory) -> tuple[Exchange, ...]:
    """Return the failed requests that the run stored, with their responses."""
    path = directory.failures
    return parse_exchanges(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else ()


def write_report(directory: RunDirectory, counted: CountedRun | None = None) -> RunSummary:
    """Write the run's JSON, charts and Markdown and return the summary; the same samples give the same bytes.

    With `counted` its samples have been counted.
    """
    summary = summary_of_run(directory, counted, may_write=True)
    write_summary(directory, summary)
    return summary


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
