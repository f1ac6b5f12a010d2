"""Writes the record and the report of an A/B test from its runs, while it is in progress and again later."""

from __future__ import annotations

from harness.ab.files import AbFiles, SeriesFiles
from harness.ab.outcome import Outcome, outcome_of
from harness.ab.record import ENDED, AbRecord
from harness.base.errors import UsageError
from harness.compare.result import RunResult
from harness.history.files import read_entry
from harness.report.files import write_missing_report
from harness.report.pages import write_page


def result_of(files: SeriesFiles, name: str) -> RunResult | None:
    """Return the result of a run, with its report; None when it left none."""
    directory = files.run(name)
    write_missing_report(directory)
    return read_entry(directory).result if directory.is_there else None


def results_of(files: AbFiles, record: AbRecord) -> dict[str, RunResult]:
    """Return the results of the runs so far by name.

    UsageError when a run has lost its numbers: without it the verdict would be another one.
    """
    results: dict[str, RunResult] = {}
    for run in record.runs:
        name = run.run or ""
        result = result_of(files, name) if name else None
        if result:
            results[name] = result
        elif run.state == ENDED and not run.problem:
            directory = files.run(name)
            why = read_entry(directory).problem if directory.is_there else "it was deleted"
            what = f"{record.id}: its run {name} has no numbers any more ({why}); nothing was written"
            raise UsageError(what, "restore its .json, or repeat the test")
    return results


def write_ab_page(files: AbFiles, outcome: Outcome) -> None:
    """Write the report; its notes block is preserved."""
    # Deferred: bad input needs no templates, which are slow to import.
    from harness.ab.render import ab_report

    write_page(files.report, lambda notes: ab_report(outcome, notes))


def write_ab_report(files: AbFiles) -> Outcome:
    """Write record and report of a stored test again and return its outcome; the same runs give the same bytes."""
    record = files.read()
    outcome = outcome_of(record, results_of(files, record))
    files.write(outcome)
    write_ab_page(files, outcome)
    return outcome


def write_missing_reports(files: SeriesFiles) -> None:
    """Write the reports of the runs that a killed harness left without one."""
    for directory in files.runs():
        write_missing_report(directory)
