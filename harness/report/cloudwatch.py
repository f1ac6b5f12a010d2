"""Fetches what CloudWatch knows of a run into its cloudwatch.csv, and makes its report anew with it."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from harness.base import aws, units
from harness.base.errors import HarnessError, UsageError
from harness.base.log import Log
from harness.cloudwatch.points import Answers, CloudMetrics
from harness.cloudwatch.queries import CloudWatchSpec, Query, Span, calls_of, period_kept_s, queries_of, whole_periods
from harness.report.charts.cloudwatch import cloud_warnings
from harness.report.files import observed_cloudwatch, summary_of_run, write_summary
from harness.report.summary import FORMAT_VERSION as SUMMARY_VERSION
from harness.report.summary import RunSummary
from harness.report.tables import one_line
from harness.run.directory import RunDirectory, read_json, write_whole
from harness.run.record import RunRecord

_WHERE = "CloudWatch"


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
    if run is None or spec is None:
        raise NothingToFetchError(
            f"{summary.source}: its profile asked for nothing from CloudWatch", "give --env of a profile that does"
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


def metrics_after(name: str, directories: Iterable[RunDirectory], log: Log) -> None:
    """Fetch the CloudWatch metrics of finished runs; an error or Ctrl-C changes nothing in the runs.

    `name` is the name of the run, or of the sweep.
    """
    log("CloudWatch: fetching what it knows")
    for directory in directories:
        try:
            add_cloudwatch(directory, log)
        except NothingToFetchError:
            continue  # an INVALID run without a load: its report says so
        except (HarnessError, OSError, KeyboardInterrupt) as error:
            what = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            log(f"CloudWatch's figures are not there: {what}")
            log(f"all else is there; this fetches them: ./aggregate.py metrics {name}")
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
    """Write cloudwatch.csv and return True; False where the one that is there has what CloudWatch has not any more."""
    period_s = period_kept_s(spec.period_s, time.time() - from_s)
    span = whole_periods(from_s, to_s, period_s)
    queries = queries_of(spec)
    answers = _answers(spec, queries, span)
    for message in dict.fromkeys(answers.messages):
        log(f"{_WHERE} says: {one_line(message)}")
    kept_s = _period_of_kept(directory)
    if kept_s is not None and (kept_s < period_s or not any(answers.values.values())):
        log(f"cloudwatch.csv, of periods of {kept_s} s, is kept: CloudWatch has less by now")
        return False
    if period_s != spec.period_s:
        log(f"CloudWatch has no periods of {spec.period_s} s of so long ago any more: they are {period_s} s")
    directory.path.mkdir(exist_ok=True)  # of a run that came as JSON alone there is none
    write_whole(directory.cloudwatch, answers.to_csv(queries, span))
    return True


def _answers(spec: CloudWatchSpec, queries: Sequence[Query], span: Span) -> Answers:
    answers = Answers()
    client = aws.client("cloudwatch", spec.endpoint_url, spec.region)
    with aws.aws_errors(_WHERE):
        for call in calls_of(queries, len(span.starts_s)):
            pages = client.get_paginator("get_metric_data").paginate(
                MetricDataQueries=[query.to_request(span.period_s) for query in call],
                StartTime=datetime.fromtimestamp(span.from_s, UTC),
                EndTime=datetime.fromtimestamp(span.to_s, UTC),
                ScanBy="TimestampAscending",
            )
            for page in pages:
                answers.add(page)
    return answers


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
    return [f"{source}: {resources} in CloudWatch, {stretch}", *cloud_warnings(found, source)]
