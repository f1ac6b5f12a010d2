"""Reads run directories and JTLs; writes the JSON and Markdown of a run beside its directory, and its charts in it."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from itertools import chain

from harness.base import units
from harness.base.errors import HarnessError, UsageError
from harness.metrics.counter_process import shared_counter
from harness.metrics.figures import LOAD
from harness.metrics.window import parse_window
from harness.report.charts.chart import write_charts
from harness.report.charts.run_charts import file_names, run_charts
from harness.report.failures import failures_page, stored_failures
from harness.report.jtls import counted_tally, silences_of
from harness.report.key_figures import run_result
from harness.report.loads import LoadTally
from harness.report.markdown import report
from harness.report.observations import Reading, observed_of
from harness.report.pages import write_page
from harness.report.results import chart_path
from harness.report.stored_comparisons import FORMAT_VERSION as COMPARED_VERSION
from harness.report.stored_comparisons import ComparedRun, ComparedRuns
from harness.report.summarise import SummaryOptions, summarise, window_of
from harness.report.summary import RunSummary
from harness.run.counted import CountedRun, count_run
from harness.run.directory import RunDirectory, json_text, load_record, write_whole
from harness.run.exchanges import Exchange, parse_exchanges
from harness.system.profile import ProcessProfile
from harness.system.profile_files import flame_graphs, recording_name, write_flame_graphs

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
    observed = observed_of(Reading(directory, run, tally, window))
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
    return write_summary(directory, _with_flame_graphs(directory, summary_of_run(directory, counted)))


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


def write_summary(directory: RunDirectory, summary: RunSummary) -> RunSummary:
    """Write a summary with its result as the run's JSON, charts and Markdown, and return it.

    The notes block of an existing report is preserved; its charts that no longer have data are deleted.
    """
    charts = run_charts(summary)
    load, first = summary.group(LOAD), chart_path(directory.name, chain.from_iterable(charts.values()))
    facts = (summary.source, summary.run, summary.verdict, load.total if load else None, summary.warnings)
    summary = replace(summary, result=run_result(*facts, first))
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
    write_whole(directory.compared, json_text(ComparedRuns(COMPARED_VERSION, compared)))
    return write_summary(directory, replace(summary, compared=compared))
