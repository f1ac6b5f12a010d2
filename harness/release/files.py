"""Reads the long run of a release, and writes a release page in its three formats, with its charts."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from harness.base.errors import HarnessError, UsageError
from harness.base.log import Log
from harness.base.records import to_plain
from harness.base.regular import regular
from harness.cloudwatch import client
from harness.cloudwatch.points import read_cloudwatch
from harness.cloudwatch.queries import TITLE
from harness.judge.summary import RunSummary
from harness.kinds.trust.known import Known, known
from harness.metrics.interval import Interval
from harness.metrics.window import Window
from harness.release.around import PUBLISHED_S, Around, intervals_of
from harness.release.confluence import storage_format
from harness.release.databases import database_charts, slower_sql
from harness.release.infrastructure import FILE_NAME, Infrastructure
from harness.release.infrastructure import FORMAT_VERSION as INFRASTRUCTURE_VERSION
from harness.release.jobs import duration_changes
from harness.release.lag import lagging
from harness.release.published import is_published, parse_published, published_page, published_result
from harness.release.release import Edition, Release, source_name
from harness.release.render import Links, release_page
from harness.release.summary import result_of
from harness.report.charts.chart import Chart, write_charts
from harness.report.files import stored_summary
from harness.report.pages import write_page
from harness.report.results import KEY, chart_path, write_result
from harness.run import kinds
from harness.run.directory import RunDirectory, json_text, load_record, write_whole
from harness.run.names import find_paths
from harness.site.files import write_report_page
from harness.sweep.analysis import analyse
from harness.sweep.charts import overlay_charts
from harness.sweep.export import FORMAT_VERSION as RESULT_VERSION
from harness.sweep.export import sweeps_data
from harness.sweep.render import SweepPage
from harness.sweep.sources import FoundSweep

# Confluence shows an attached SVG only when it begins with this.
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
# The folder of a page has only its charts.
_CHART_NAME = re.compile(r".+\.svg")


@dataclass(frozen=True)
class Written:
    """The files of a release page: Markdown, one HTML file, and the storage format of Confluence."""

    markdown: Path
    html: Path
    confluence: Path


def read_long_run(name: str, reports: Path) -> RunSummary:
    """Return the summary of the run with this name. UsageError unless it is one run."""
    paths = find_paths([name], reports)
    if len(paths) != 1 or not (kinds.RUN_NAME.fullmatch(paths[0].name) or (paths[0] / "run.json").is_file()):
        raise UsageError(f"--long {name}: is not one run", "give a run such as folio-checkin/run-03_1")
    return stored_summary(RunDirectory(paths[0]))


def infrastructure_of(found: FoundSweep) -> Infrastructure | None:
    """Return the stored infrastructure of a sweep; None when it was never read."""
    path = _infrastructure_path(found)
    return load_record(Infrastructure, path) if path.is_file() else None


def read_infrastructure_once(found: FoundSweep, log: Log) -> Infrastructure | None:
    """Return the infrastructure of a sweep: the stored one, else read from its source and stored beside the charts.

    None when the profile of its runs lists no resources, or nothing could be read. A failure is logged, and what was
    read then is not stored.
    """
    stored = infrastructure_of(found)
    spec = next((run.cloudwatch for run in found.sweep.records if run.cloudwatch), None)
    if stored is not None or spec is None or not spec.resources:
        return stored
    log(f"{TITLE}: reading how the resources are set up")
    failures: list[str] = []
    resources_found = client.infrastructure(spec, failures.append)
    for text in failures:
        log(text)
    if not resources_found:
        return None
    read_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    infrastructure = Infrastructure(INFRASTRUCTURE_VERSION, read_at, resources_found)
    if not failures:  # else the next page reads it again
        path = _infrastructure_path(found)
        path.parent.mkdir(exist_ok=True)
        write_whole(path, json_text(infrastructure))
    return infrastructure


def _folder(found: FoundSweep) -> Path:
    """Return the folder of a sweep's charts; of runs that of the first one."""
    return home_of(found).with_suffix("")


def home_of(found: FoundSweep) -> Path:
    """Return the path of the report of a sweep; of runs that of the first one."""
    return found.report or next(iter(found.run_reports.values()))


def _infrastructure_path(found: FoundSweep) -> Path:
    return _folder(found) / FILE_NAME


def around_of(found: FoundSweep) -> Around:
    """Return the stored metrics before and after a sweep, as far as there are any."""
    stored = {}
    for file in (one for one in _around_files(found) if one.path.is_file()):
        with file.path.open(encoding="utf-8", errors="replace", newline="") as lines:
            window = Window.whole(file.interval.length_s)
            stored[file.when] = read_cloudwatch(lines, file.interval.from_s, window)
    return Around(**stored)


class _AroundFile(NamedTuple):
    """The file with the metrics of an interval `before` or `after` a sweep (`when`), which may not exist yet."""

    when: str
    path: Path
    interval: Interval


def _around_files(found_sweep: FoundSweep) -> tuple[_AroundFile, ...]:
    """Return both files of a sweep beside its charts; none without finished runs."""
    intervals, folder = intervals_of(found_sweep.sweep).items(), _folder(found_sweep)
    return tuple(_AroundFile(when, folder / f"cloudwatch-{when}.csv", interval) for when, interval in intervals)


def read_around_once(found: FoundSweep, log: Log) -> Around:
    """Return the metrics before and after a sweep: stored ones, else fetched and stored beside the sweep's charts.

    Nothing is stored that is not complete yet: the minutes after a sweep, and what could not be fetched.
    """
    spec = next((run.cloudwatch for run in found.sweep.records if run.cloudwatch), None)
    if spec is None or not spec.resources:
        return around_of(found)
    for file in _around_files(found):
        if file.path.is_file():
            continue
        if time.time() < file.interval.to_s + PUBLISHED_S:
            log(f"{TITLE}: the minutes {file.when} the sweep are not known yet; write the page again later")
            continue
        log(f"{TITLE}: fetching the minutes {file.when} the sweep")
        try:
            fetched = client.fetch(spec, file.interval.from_s, file.interval.to_s, log)
        except HarnessError as error:
            log(f"the minutes {file.when} the sweep are not known: {error}")
            break
        if not fetched.is_empty:
            file.path.parent.mkdir(exist_ok=True)
            write_whole(file.path, fetched.csv_text)
    return around_of(found)


def known_of(edition: Edition, reports: Path) -> dict[str, Known | None]:
    """Return what the newest trust test of each plan knows of runs with the load of the release."""
    first = {plan: next(iter(found.sweep.records), None) for plan, found in edition.sweeps.items()}
    return {plan: known(reports, plan, run.load, run.profile) if run else None for plan, run in first.items()}


def page_path(release: Release) -> Path:
    """Return the path of the Markdown page: release-<last release>-<new>.md beside the first sweep of the new one."""
    new, base = (home_of(next(iter(edition.sweeps.values()))) for edition in release.editions[:2])
    base_name = base.stem if base.parent == new.parent else f"{base.parent.name}-{base.stem}"
    return new.with_name(f"{kinds.RELEASE.named(base_name)}-{new.stem}.md")


def write_release(release: Release, command: str, template: str) -> Written:
    """Write the page in all formats, its JSON and its charts. People's text is preserved, and in all."""
    path = page_path(release)
    charts = [Chart(chart.name, _DECLARATION + chart.svg) for chart in _charts(release)]
    links = _links(release, path.parent)
    note = next((found.sweep.record.note for found in release.new.sweeps.values() if found.sweep.record), "")

    def render(notes: str) -> str:
        return release_page(release, SweepPage(charts, notes, path.stem, command), links, template)

    write_page(path, render, note)
    write_charts(path.with_suffix(""), charts, _CHART_NAME)
    write_result(path, {**_data(release), "command": command, KEY: result_of(release, chart_path(path.stem, charts))})
    return _other_formats(path)


def _other_formats(path: Path) -> Written:
    confluence = path.with_suffix(".confluence.xml")
    write_whole(confluence, storage_format(path.read_text(encoding="utf-8")))
    return Written(path, write_report_page(path), confluence)


def published_in(names: Sequence[str]) -> Path | None:
    """Return the path of a CSV with published figures that is the only name; None for anything else."""
    path = Path(names[0]) if len(names) == 1 else None
    is_csv = path is not None and path.suffix == ".csv" and path.is_file()
    return path if path and is_csv and is_published(_text(path)) else None


def write_published(path: Path) -> Written:
    """Write the page of a CSV with published figures beside it, in all formats."""
    figures = parse_published(_text(path), path.name)
    page = path.with_name(f"{kinds.RELEASE.named(path.stem)}.md")
    command = shlex.join(["lth", "release", os.path.relpath(path)])
    write_page(page, lambda notes: published_page(figures, notes, command))
    data = {"format_version": RESULT_VERSION, "command": command, "figures": [one._asdict() for one in figures]}
    write_result(page, {**data, KEY: published_result(figures)})
    return _other_formats(page)


def _text(path: Path) -> str:
    try:
        return regular(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as text ({error})", "give a CSV in UTF-8") from None


def _charts(release: Release) -> Iterator[Chart]:
    """Yield the charts of each workload, all releases in one, and those of the databases."""
    for at, plan in enumerate(release.plans):
        sweeps = [(one.name, one.sweeps[plan].sweep) for one in release.editions if plan in one.sweeps]
        titled = [replace(sweep, name=name) for name, sweep in sweeps]
        for chart in overlay_charts(titled, [analyse(one.levels, one.goal) for one in titled]):
            yield replace(chart, name=f"{plan}-{chart.name}") if at else chart
    yield from database_charts(release)


def _data(release: Release) -> dict[str, Any]:
    """Return the data of the JSON: sweeps, comparisons with the last release, and what was named."""
    named = [one for edition in release.editions for one in release.named(edition)]
    sweeps = [replace(one.sweep, name=one.name) for one in named]
    levels = [
        {**({"workload": one.workload} if one.workload else {}), "users": one.users, **to_plain(found)}
        for one, found in release.levels[0].items()
    ]
    return {
        **sweeps_data(sweeps, [one.analysis for one in named], [*release.wholes.values()]),
        "levels": levels,
        "jobs": [{"job": one.key.text, **to_plain(one.change)} for one in duration_changes(release)],
        "slower_sql": [
            {"database": one.key.database, "sql": one.text, **to_plain(one.change)} for one in slower_sql(release)
        ],
        "lagging": [{"group": one.title, **to_plain(one.change)} for one in lagging(release)],
    }


def _links(release: Release, folder: Path) -> Links:

    def relative(path: Path) -> str:
        return Path(os.path.relpath(path, folder)).as_posix()

    all_found = [found for edition in release.editions for found in edition.sweeps.values()]
    reports = (report for found in all_found for report in found.run_reports.items())
    existing = {name: relative(path) for name, path in reports if path.is_file()}
    return Links(existing, {source_name(found): relative(found.report) for found in all_found if found.report})
