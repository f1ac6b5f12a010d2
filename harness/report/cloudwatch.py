"""Fetches the CloudWatch metrics of a run into its cloudwatch.csv, and writes its report again."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from harness.base import units
from harness.base.aws import NoRightError, ThrottledError
from harness.base.errors import HarnessError, UsageError
from harness.base.log import Log
from harness.base.plain_text import one_line
from harness.cloudwatch import client
from harness.cloudwatch.insights import read_insights
from harness.cloudwatch.listing import BEFORE_S
from harness.cloudwatch.participants import participants_of
from harness.cloudwatch.points import FILE_NAME, CloudMetrics, fetched_metrics
from harness.cloudwatch.queries import TITLE, CloudWatchSpec
from harness.cloudwatch.resources import Fetched
from harness.cloudwatch.services import FILE_NAME as SERVICES
from harness.cloudwatch.services import FORMAT_VERSION as SERVICES_VERSION
from harness.cloudwatch.services import Missing, Services, StoredServices
from harness.judge.evidence import Values
from harness.judge.growth import with_cloud
from harness.judge.summary import RunSummary
from harness.judge.warnings import RunWarning, WarningKind, consumer_lag, growth, throttled, warning_kinds
from harness.metrics.throttle import Throttle
from harness.metrics.window import Window
from harness.report.charts.cloudwatch import cloud_warnings
from harness.report.files import stored_summary, write_summary
from harness.report.services import missing_text
from harness.run.directory import RunDirectory, json_text, write_whole


class NothingToFetchError(UsageError):
    """A run without CloudWatch metrics to fetch; other runs may have some."""


def add_cloudwatch(directory: RunDirectory, log: Log, spec: CloudWatchSpec | None = None) -> RunSummary:
    """Fetch the metrics of a run, write its JSON, charts and Markdown again and return its summary.

    `spec` replaces the request of the run's profile. NothingToFetchError when neither requests anything, or there was
    no load; another HarnessError when nothing could be fetched: the run is then unchanged.
    """
    summary = stored_summary(directory)
    run = summary.run
    spec = spec or (run.cloudwatch if run else None)
    if run is None or spec is None or not spec.resources:
        what = f"{summary.source}: its profile requests nothing from {TITLE}"
        raise NothingToFetchError(what, "give --env with a profile that does")
    if summary.origin_s is None or not summary.window.run_s:
        raise NothingToFetchError(f"{summary.source}: the run had no load", "see its report")
    from_s = summary.origin_s
    gathered = _gathered(directory, spec, from_s, summary.window, log)
    if gathered.is_new and spec != run.cloudwatch:
        run = replace(run, cloudwatch=spec)
        if directory.run_json.is_file():
            directory.write_run(run)
    cloudwatch = fetched_metrics(directory.path, from_s, summary.window)
    participants = participants_of(cloudwatch, spec.resources)
    if participants and not _was_quiet(directory, from_s):
        participants = participants_of(cloudwatch, spec.resources, was_quiet=False)
    services = replace(gathered.services, participants=participants)
    services = _with_earlier(services, summary.observed.services, log)
    directory.path.mkdir(exist_ok=True)  # a run that exists only as JSON has none
    write_whole(directory.path / SERVICES, json_text(StoredServices(SERVICES_VERSION, services)))
    growths = with_cloud(summary.observed.growths, cloudwatch, summary.window, run)
    warnings = tuple(_with_balances(warning, summary.throttle, cloudwatch) for warning in summary.warnings)
    warnings = _found_again(warnings, growth.WARNING, growth.growth_values(growths))
    warnings = _found_again(warnings, consumer_lag.WARNING, consumer_lag.lag_values(cloudwatch, summary.window))
    observed = replace(summary.observed, cloudwatch=cloudwatch, services=services, growths=growths)
    summary = replace(summary, run=run, observed=observed, warnings=warnings)
    write_summary(directory, summary)
    if cloudwatch:
        resources = f"{units.plural(len(cloudwatch.resources), 'resource')} in {TITLE}"
        log(f"{summary.source}: {resources}, periods from {cloudwatch.from_s} to {cloudwatch.to_s} s are counted")
        for line in cloud_warnings(cloudwatch, summary.source):
            log(line)
    for one in services.missing:
        log(one_line(missing_text(one)))
    return summary


class _Gathered(NamedTuple):
    """What was gathered after a run, and whether its cloudwatch.csv is new."""

    services: Services
    is_new: bool


def _gathered(directory: RunDirectory, spec: CloudWatchSpec, origin_s: int, window: Window, log: Log) -> _Gathered:
    """Write cloudwatch.csv and return the services of a run without participants.

    Where the source refuses the metrics, the load of databases is still gathered; its error is raised if there is none.
    """
    fetched, refusal = None, None
    try:
        fetched = client.fetch(spec, origin_s, origin_s + window.run_s, lambda text: log(one_line(text)))
    except (NoRightError, ThrottledError) as error:
        refusal = error
    services = read_insights(spec, origin_s, window)
    if refusal and not services.databases:
        raise refusal
    missing = fetched.missing if fetched else ()
    if refusal:
        missing = (Missing.of(refusal, TITLE, "all metrics"),)
    is_new = fetched is not None and _store(directory, fetched, spec, log)
    return _Gathered(replace(services, missing=missing + services.missing), is_new)


def _was_quiet(directory: RunDirectory, origin_s: int) -> bool:
    """Return whether no other run of the plan, such as the level before, ended in the ten minutes before a load."""
    for path in directory.path.parent.glob("run-*/run.json"):
        with contextlib.suppress(HarnessError, ValueError):  # a damaged run is not this one's problem
            run = None if path == directory.run_json else RunDirectory(path.parent).read_run()
            if run and run.ended_at and 0 <= origin_s - datetime.fromisoformat(run.ended_at).timestamp() < BEFORE_S:
                return False
    return True


def _with_earlier(services: Services, earlier: Services | None, log: Log) -> Services:
    """Return the services with databases of an earlier fetch that the source no longer has."""
    names = {one.name for one in services.databases}
    kept = tuple(one for one in (earlier.databases if earlier else ()) if one.name not in names)
    for one in kept:
        log(f"the load of {one.name} is not replaced: there is nothing new")
    return replace(services, databases=services.databases + kept)


def _with_balances(warning: RunWarning, fall: Throttle | None, cloudwatch: CloudMetrics | None) -> RunWarning:
    """Return the warning about a fall of the throughput with the balances that were used up; others as they are."""
    if fall is None or warning.code != throttled.WARNING.code:
        return warning
    return replace(warning, text=throttled.WARNING.full_text.format(**throttled.throttle_values(fall, cloudwatch)))


def _found_again(warnings: Sequence[RunWarning], kind: WarningKind, values: Iterable[Values]) -> tuple[RunWarning, ...]:
    """Return the warnings of a run with those of one code made again, by weight."""
    made = [RunWarning(kind.code, kind.full_text.format(**each)) for each in values]
    others = [warning for warning in warnings if warning.code != kind.code]
    order = {code: index for index, code in enumerate(warning_kinds())}
    return tuple(sorted([*others, *made], key=lambda warning: order.get(warning.code, len(order))))


def metrics_after(name: str, directories: Iterable[RunDirectory], log: Log) -> None:
    """Fetch the metrics that a profile requests of finished runs; an error or Ctrl-C changes nothing in the runs.

    `name` is the name of the run, or of the sweep.
    """
    log(f"{TITLE}: fetching metrics")
    for directory in directories:
        try:
            add_cloudwatch(directory, log)
        except NothingToFetchError:
            continue  # an INVALID run without a load, as its report states
        except (HarnessError, OSError, KeyboardInterrupt) as error:
            what = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            log(f"{TITLE} metrics are missing: {what}")
            log(f"everything else is complete; to fetch them: lth metrics {name}")
            return


def _store(directory: RunDirectory, fetched: Fetched, spec: CloudWatchSpec, log: Log) -> bool:
    """Write cloudwatch.csv and return True; return False when the file has values that the source no longer has."""
    existing_s = _existing_period(directory)
    if existing_s is not None and (existing_s < fetched.period_s or fetched.is_empty):
        log(f"{FILE_NAME}, with periods of {existing_s} s, is not replaced: {TITLE} now has less")
        return False
    if fetched.period_s != spec.period_s:
        what = f"{TITLE} no longer has periods of {spec.period_s} s from that time"
        log(f"{what}; its periods are {fetched.period_s} s")
    directory.path.mkdir(exist_ok=True)  # as below
    write_whole(directory.path / FILE_NAME, fetched.csv_text)
    return True


def _existing_period(directory: RunDirectory) -> int | None:
    """Return the period (s) of the existing cloudwatch.csv; None without the file, or without a value in it."""
    try:
        with (directory.path / FILE_NAME).open(encoding="utf-8", newline="") as lines:
            return next((int(row["period_s"]) for row in csv.DictReader(lines) if row.get("value")), None)
    except (OSError, ValueError, KeyError, TypeError):
        return None
