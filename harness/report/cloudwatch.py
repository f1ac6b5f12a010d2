"""Fetches the CloudWatch metrics of a run into its cloudwatch.csv, and writes its report again."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace

from harness.base import units
from harness.base.errors import HarnessError, UsageError
from harness.base.log import Log
from harness.cloudwatch.points import FILE_NAME, CloudMetrics, fetched_metrics
from harness.cloudwatch.source import MetricsSpec
from harness.cloudwatch.sources import source_of, titles
from harness.metrics.resource_growth import Growth
from harness.metrics.throttle import Throttle
from harness.report.charts.cloudwatch import cloud_warnings
from harness.report.files import stored_summary, write_summary
from harness.report.generator_evidence import throttle_values
from harness.report.growth import growth_values, with_cloud
from harness.report.summary import RunSummary
from harness.report.tables import one_line
from harness.report.warnings import RunWarning, WarningCode
from harness.run.directory import RunDirectory, write_whole


class NothingToFetchError(UsageError):
    """A run without CloudWatch metrics to fetch; other runs may have some."""


def add_cloudwatch(directory: RunDirectory, log: Log, spec: MetricsSpec | None = None) -> RunSummary:
    """Fetch the metrics of a run, write its JSON, charts and Markdown again and return its summary.

    `spec` replaces the request of the run's profile. NothingToFetchError when neither requests anything, or there was
    no load; another HarnessError when nothing could be fetched: the run is then unchanged.
    """
    summary = stored_summary(directory)
    run = summary.run
    spec = spec or (run.cloudwatch if run else None)
    if run is None or spec is None or not spec.resources:
        what = f"{summary.source}: its profile requests nothing from {titles()}"
        raise NothingToFetchError(what, "give --env with a profile that does")
    if summary.origin_s is None or not summary.window.run_s:
        raise NothingToFetchError(f"{summary.source}: the run had no load", "see its report")
    is_new = _fetch(directory, spec, summary.origin_s, summary.origin_s + summary.window.run_s, log)
    if is_new and spec != run.cloudwatch:
        run = replace(run, cloudwatch=spec)
        if directory.run_json.is_file():
            directory.write_run(run)
    cloudwatch = fetched_metrics(directory.path, summary.origin_s, summary.window)
    growths = with_cloud(summary.observed.growths, cloudwatch, summary.window, run)
    warnings = tuple(_with_balances(warning, summary.throttle, cloudwatch) for warning in summary.warnings)
    observed = replace(summary.observed, cloudwatch=cloudwatch, growths=growths)
    summary = replace(summary, run=run, observed=observed, warnings=_with_growth(warnings, growths))
    write_summary(directory, summary)
    if cloudwatch:
        resources = (
            f"{units.plural(len(cloudwatch.resources), 'resource')} in {source_of(cloudwatch.resources[0]).title}"
        )
        log(f"{summary.source}: {resources}, periods from {cloudwatch.from_s} to {cloudwatch.to_s} s are counted")
        for line in cloud_warnings(cloudwatch, summary.source):
            log(line)
    return summary


def _with_balances(warning: RunWarning, fall: Throttle | None, cloudwatch: CloudMetrics | None) -> RunWarning:
    """Return the warning about a fall of the throughput with the balances that were used up; others as they are."""
    if fall is None or warning.code != WarningCode.THROTTLED:
        return warning
    return replace(warning, text=WarningCode.THROTTLED.text.format(**throttle_values(fall, cloudwatch)))


def _with_growth(warnings: Sequence[RunWarning], growths: Sequence[Growth]) -> tuple[RunWarning, ...]:
    """Return the warnings of a run with the one about growth made again, in the order of WarningCode."""
    code = WarningCode.GROWTH
    growth_warnings = [RunWarning(str(code), code.text.format(**values)) for values in growth_values(growths)]
    others = [warning for warning in warnings if warning.code != code]
    order = {str(one): index for index, one in enumerate(WarningCode)}
    return tuple(sorted([*others, *growth_warnings], key=lambda warning: order.get(warning.code, len(order))))


def metrics_after(name: str, spec: MetricsSpec, directories: Iterable[RunDirectory], log: Log) -> None:
    """Fetch the metrics that a profile requests of finished runs; an error or Ctrl-C changes nothing in the runs.

    `name` is the name of the run, or of the sweep.
    """
    title = source_of(spec.resources[0]).title
    log(f"{title}: fetching metrics")
    for directory in directories:
        try:
            add_cloudwatch(directory, log)
        except NothingToFetchError:
            continue  # an INVALID run without a load, as its report states
        except (HarnessError, OSError, KeyboardInterrupt) as error:
            what = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            log(f"{title} metrics are missing: {what}")
            log(f"everything else is complete; to fetch them: ./aggregate.py metrics {name}")
            return


def _fetch(directory: RunDirectory, spec: MetricsSpec, from_s: int, to_s: int, log: Log) -> bool:
    """Write cloudwatch.csv and return True; return False when the file has values that the source no longer has."""
    source = source_of(spec.resources[0])
    fetched = source.fetch(spec, from_s, to_s, lambda text: log(one_line(text)))
    existing_s = _existing_period(directory)
    if existing_s is not None and (existing_s < fetched.period_s or fetched.is_empty):
        log(f"{FILE_NAME}, with periods of {existing_s} s, is not replaced: {source.title} now has less")
        return False
    if fetched.period_s != spec.period_s:
        what = f"{source.title} no longer has periods of {spec.period_s} s from that time"
        log(f"{what}; its periods are {fetched.period_s} s")
    directory.path.mkdir(exist_ok=True)  # a run that exists only as JSON has none
    write_whole(directory.path / FILE_NAME, fetched.csv_text)
    return True


def _existing_period(directory: RunDirectory) -> int | None:
    """Return the period (s) of the existing cloudwatch.csv; None without the file, or without a value in it."""
    try:
        with (directory.path / FILE_NAME).open(encoding="utf-8", newline="") as lines:
            return next((int(row["period_s"]) for row in csv.DictReader(lines) if row.get("value")), None)
    except (OSError, ValueError, KeyError, TypeError):
        return None
