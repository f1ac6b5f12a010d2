"""Writes the record, the charts and the report of a designed experiment from its runs, also again later."""

from __future__ import annotations

from harness.ab.report_files import result_of
from harness.base.errors import UsageError
from harness.compare.result import RunResult
from harness.report.charts.files import write_charts
from harness.report.pages import write_page
from harness.tune.files import TuneFiles
from harness.tune.outcome import Outcome, outcome_of
from harness.tune.record import ENDED, TuneRecord


def results_of(files: TuneFiles, record: TuneRecord) -> dict[str, RunResult]:
    """Return the results of the runs so far by name.

    UsageError when a run has lost its numbers: without it the effects would be others.
    """
    results: dict[str, RunResult] = {}
    for run in record.runs:
        name = run.run or ""
        result = result_of(files, name) if name else None
        if result:
            results[name] = result
        elif run.state == ENDED and not run.problem:
            what = f"{record.id}: its run {name} has no numbers any more; nothing was written"
            raise UsageError(what, "restore its .json, or repeat the experiment")
    return results


def write_tune_page(files: TuneFiles, outcome: Outcome) -> None:
    """Write charts and report; its notes block is preserved."""
    # Deferred: bad input needs no templates, which are slow to import.
    from harness.tune.charts import FILE_NAME, tune_charts
    from harness.tune.render import tune_report

    charts = tune_charts(outcome)
    write_charts(files.folder, charts, FILE_NAME)
    write_page(files.report, lambda notes: tune_report(outcome, charts, notes))


def write_tune_report(files: TuneFiles) -> Outcome:
    """Write record, charts and report of a stored experiment again; the same runs give the same bytes."""
    record = files.read()
    outcome = outcome_of(record, results_of(files, record))
    files.store(outcome)
    write_tune_page(files, outcome)
    return outcome
