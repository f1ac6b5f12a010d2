"""Fetches what CloudWatch knows of a run into its cloudwatch.csv, and makes its report anew with it."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import replace

from harness.base import units
from harness.base.errors import HarnessError, UsageError
from harness.base.log import Log
from harness.cloudwatch.points import CloudMetrics
from harness.cloudwatch.queries import CloudWatchSpec
from harness.cloudwatch.sources import source_of, titles
from harness.report.charts.cloudwatch import cloud_warnings
from harness.report.files import observed_cloudwatch, summary_of_run, write_summary
from harness.report.summary import FORMAT_VERSION as SUMMARY_VERSION
from harness.report.summary import RunSummary
from harness.report.tables import one_line
from harness.run.directory import RunDirectory, read_json, write_whole
from harness.run.record import RunRecord


class NothingToFetchError(UsageError):
    """A run that CloudWatch cannot be asked about; of others it can."""


def add_cloudwatch(directory: RunDirectory, log: Log, asked: CloudWatchSpec | None = None) -> RunSummary:
    """Fetch the figures of a run, write its JSON, charts and Markdown again and return its summary.

    `asked` takes the place of what the run's profile asked for. NothingToFetchError when neither asks for anything, or
    there was no load; another HarnessError when nothing could be fetched: the run is then as it was.
    """
    summary = _summary(directory)
    run = summary.run
    spec = asked or (run.cloudwatch if run else None)
    if run is None or spec is None or not spec.resources:
        raise NothingToFetchError(
            f"{summary.source}: its profile asked for nothing from {titles()}", "give --env of a profile that does"
        )
    if summary.origin_s is None or not summary.window.run_s:
        raise NothingToFetchError(f"{summary.source}: there was no load to watch anything under", "see its report")
    is_new = _fetch(directory, spec, summary.origin_s, summary.origin_s + summary.window.run_s, log)
    if is_new and spec != run.cloudwatch:
        run = _remember(directory, run, spec)
    found = observed_cloudwatch(directory, summary.origin_s, summary.window)
    summary = replace(summary, run=run, observed=replace(summary.observed, cloudwatch=found))
    write_summary(directory, summary)
    for line in _told(found, summary.source) if found else ():
        log(line)
    return summary


def metrics_after(name: str, spec: CloudWatchSpec, directories: Iterable[RunDirectory], log: Log) -> None:
    """Fetch the metrics that a profile requests of finished runs; an error or Ctrl-C changes nothing in the runs.

    `name` is the name of the run, or of the sweep.
    """
    title = source_of(spec.resources[0]).title
    log(f"{title}: fetching what it knows")
    for directory in directories:
        try:
            add_cloudwatch(directory, log)
        except NothingToFetchError:
            continue  # an INVALID run without a load: its report says so
        except (HarnessError, OSError, KeyboardInterrupt) as error:
            what = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            log(f"{title} metrics are missing: {what}")
            log(f"everything else is complete; to fetch them: ./aggregate.py metrics {name}")
            return


def _summary(directory: RunDirectory) -> RunSummary:
    """Return the summary that the run's report was made of; one made anew when there is none of this version."""
    if directory.summary_json.is_file():
        return RunSummary.from_json(read_json(directory.summary_json, SUMMARY_VERSION), str(directory.summary_json))
    return summary_of_run(directory)


def _remember(directory: RunDirectory, run: RunRecord, spec: CloudWatchSpec) -> RunRecord:
    record = replace(run, cloudwatch=spec)
    if directory.run_json.is_file():
        directory.write_run(record.to_json())
    return record


def _fetch(directory: RunDirectory, spec: CloudWatchSpec, from_s: int, to_s: int, log: Log) -> bool:
    """Write cloudwatch.csv and return True; return False when the file has finer periods than the source still has."""
    source = source_of(spec.resources[0])
    fetched = source.fetch(spec, from_s, to_s, lambda text: log(one_line(text)))
    kept_s = _period_of_kept(directory)
    if kept_s is not None and (kept_s < fetched.period_s or fetched.is_empty):
        log(f"cloudwatch.csv, of periods of {kept_s} s, is kept: {source.title} has less by now")
        return False
    if fetched.period_s != spec.period_s:
        log(
            f"{source.title} has no periods of {spec.period_s} s of so long ago any more: they are {fetched.period_s} s"
        )
    directory.path.mkdir(exist_ok=True)  # of a run that came as JSON alone there is none
    write_whole(directory.cloudwatch, fetched.csv_text)
    return True


def _period_of_kept(directory: RunDirectory) -> int | None:
    """Return the period (s) of the cloudwatch.csv that is there; None when there is none, or no value in it."""
    try:
        with directory.cloudwatch.open(encoding="utf-8", newline="") as lines:
            return next((int(row["period_s"]) for row in csv.DictReader(lines) if row.get("value")), None)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _told(found: CloudMetrics, source: str) -> list[str]:
    """Return what was found in lines of its own."""
    resources = units.plural(len(found.resources), "resource")
    stretch = f"counted are their periods from {found.from_s} to {found.to_s} s"
    title = source_of(found.resources[0]).title
    return [f"{source}: {resources} in {title}, {stretch}", *cloud_warnings(found, source)]
