"""Fetches the CloudWatch metrics of a run into its cloudwatch.csv, and writes its report again."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from harness.base import aws, units
from harness.base.errors import HarnessError, UsageError
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
    """A run without CloudWatch metrics to fetch; other runs may have some."""


def add_cloudwatch(
    directory: RunDirectory, say: Callable[[str], None], asked: CloudWatchSpec | None = None
) -> RunSummary:
    """Fetch the metrics of a run, write its JSON, charts and Markdown again and return its summary.

    `asked` replaces the request of the run's profile. NothingToFetchError when neither requests anything, or there was
    no load; another HarnessError when nothing could be fetched: the run is then unchanged.
    """
    summary = _summary(directory)
    run = summary.run
    spec = asked or (run.cloudwatch if run else None)
    if run is None or spec is None:
        raise NothingToFetchError(
            f"{summary.source}: its profile requests no CloudWatch metrics", "give --env with a profile that does"
        )
    if summary.origin_s is None or not summary.window.run_s:
        raise NothingToFetchError(f"{summary.source}: the run had no load", "see its report")
    is_new = _fetch(directory, spec, summary.origin_s, summary.origin_s + summary.window.run_s, say)
    if is_new and spec != run.cloudwatch:
        run = _remember(directory, run, spec)
    found = observed_cloudwatch(directory, summary.origin_s, summary.window)
    summary = replace(summary, run=run, observed=replace(summary.observed, cloudwatch=found))
    write_summary(directory, summary)
    for line in _found_lines(found, summary.source) if found else ():
        say(line)
    return summary


def metrics_after(name: str, directories: Iterable[RunDirectory], say: Callable[[str], None]) -> None:
    """Fetch the CloudWatch metrics of finished runs; an error or Ctrl-C changes nothing in the runs.

    `name` is the name of the run, or of the sweep.
    """
    say("CloudWatch: fetching metrics")
    for directory in directories:
        try:
            add_cloudwatch(directory, say)
        except NothingToFetchError:
            continue  # an INVALID run without a load, as its report states
        except (HarnessError, OSError, KeyboardInterrupt) as error:
            what = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            say(f"CloudWatch metrics are missing: {what}")
            say(f"everything else is complete; this fetches them: ./aggregate.py metrics {name}")
            return


def _summary(directory: RunDirectory) -> RunSummary:
    """Return the summary of the run's report; it is computed again if none of this version exists."""
    if directory.summary_json.is_file():
        return RunSummary.from_json(read_json(directory.summary_json, SUMMARY_VERSION), str(directory.summary_json))
    return summary_of_run(directory)


def _remember(directory: RunDirectory, run: RunRecord, spec: CloudWatchSpec) -> RunRecord:
    record = replace(run, cloudwatch=spec)
    if directory.run_json.is_file():
        directory.write_run(record.to_json())
    return record


def _fetch(directory: RunDirectory, spec: CloudWatchSpec, from_s: int, to_s: int, say: Callable[[str], None]) -> bool:
    """Write cloudwatch.csv and return True; False if the existing file has values that CloudWatch no longer has."""
    period_s = period_kept_s(spec.period_s, time.time() - from_s)
    span = whole_periods(from_s, to_s, period_s)
    queries = queries_of(spec)
    answers = _answers(spec, queries, span)
    for message in dict.fromkeys(answers.messages):
        say(f"{_WHERE} says: {one_line(message)}")
    existing_s = _existing_period(directory)
    if existing_s is not None and (existing_s < period_s or not any(answers.values.values())):
        say(f"cloudwatch.csv, with periods of {existing_s} s, is not replaced: CloudWatch now has less")
        return False
    if period_s != spec.period_s:
        say(f"CloudWatch no longer has periods of {spec.period_s} s from that time; its periods are {period_s} s")
    directory.path.mkdir(exist_ok=True)  # a run that exists only as JSON has none
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


def _existing_period(directory: RunDirectory) -> int | None:
    """Return the period (s) of the existing cloudwatch.csv; None without the file, or without a value in it."""
    try:
        with directory.cloudwatch.open(encoding="utf-8", newline="") as lines:
            return next((int(row["period_s"]) for row in csv.DictReader(lines) if row.get("value")), None)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _found_lines(found: CloudMetrics, source: str) -> list[str]:
    """Return one line about the fetched metrics, and their warnings."""
    resources = units.plural(len(found.resources), "resource")
    interval = f"periods from {found.from_s} to {found.to_s} s are counted"
    return [f"{source}: {resources} in CloudWatch, {interval}", *cloud_warnings(found, source)]
