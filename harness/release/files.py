"""Reads the long run of a release, and writes a release page in its three formats, with its charts."""

from __future__ import annotations

import os
import posixpath
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from harness.base.errors import HarnessError, UsageError
from harness.base.log import Log
from harness.base.records import to_plain
from harness.cloudwatch.points import read_cloudwatch
from harness.cloudwatch.sources import source_of
from harness.compare.comparison import CANNOT_TELL, INVALID, OK, REGRESSED
from harness.metrics.interval import Interval
from harness.metrics.window import Window
from harness.release.around import PUBLISHED_S, Around, intervals_of
from harness.release.infrastructure import FILE_NAME, Infrastructure
from harness.release.infrastructure import FORMAT_VERSION as INFRASTRUCTURE_VERSION
from harness.release.release import Release
from harness.release.render import Links, release_page
from harness.release.sides import Sides
from harness.release.summary import result_of
from harness.report.charts.chart import Chart, write_charts
from harness.report.files import stored_summary
from harness.report.pages import write_page
from harness.report.results import KEY, chart_path, write_result
from harness.report.stored_comparisons import BETTER
from harness.report.summary import RunSummary
from harness.report.verdict import DOUBTFUL, INTERRUPTED, VALID
from harness.run import kinds
from harness.run.directory import RunDirectory, json_text, load_record, write_whole
from harness.run.names import find_paths
from harness.site.files import write_report_page
from harness.site.html import inline
from harness.sweep.charts import FILE_NAME as CHART_NAME
from harness.sweep.charts import overlay_charts
from harness.sweep.export import sweeps_data
from harness.sweep.render import Page
from harness.sweep.sources import FoundSweep

# Confluence shows an attached SVG only when it begins with this.
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
# The colours of the status macro; a cell of a table that is one of these texts becomes a lozenge.
_COLOURS: Mapping[str, str] = {
    REGRESSED: "Red", "missed": "Red", INVALID: "Red", INTERRUPTED: "Red",
    OK: "Green", BETTER: "Green", "met": "Green", VALID: "Green",
    CANNOT_TELL: "Yellow", DOUBTFUL: "Yellow",
}  # fmt: skip
# Without a width, Confluence shows SVG images in a size of its own.
_IMAGE_WIDTH = 900
_COMMENT = re.compile(r"^<!--.*-->\n?", re.MULTILINE)
# Characters that XML does not allow.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TOC = '<ac:structured-macro ac:name="toc"><ac:parameter ac:name="maxLevel">2</ac:parameter></ac:structured-macro>\n'
_STATUS = Markup(
    '<ac:structured-macro ac:name="status"><ac:parameter ac:name="colour">{}</ac:parameter>'
    '<ac:parameter ac:name="title">{}</ac:parameter></ac:structured-macro>'
)
_IMAGE = Markup('<ac:image ac:alt="{}" ac:width="{}"><ri:attachment ri:filename="{}" /></ac:image>')
_PANELS = {
    "blockquote_open": '<ac:structured-macro ac:name="warning"><ac:rich-text-body>\n',
    "blockquote_close": "</ac:rich-text-body></ac:structured-macro>\n",
}
_CODE = (
    '<ac:structured-macro ac:name="code"><ac:plain-text-body><![CDATA[{}]]></ac:plain-text-body>'
    "</ac:structured-macro>\n"
)


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
    source = source_of(spec.resources[0])
    log(f"{source.title}: reading how the resources are set up")
    failures: list[str] = []
    resources_found = source.infrastructure(spec, failures.append)
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


def _infrastructure_path(found_sweep: FoundSweep) -> Path:
    assert found_sweep.report is not None
    return found_sweep.report.with_suffix("") / FILE_NAME


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
    assert found_sweep.report is not None
    intervals, folder = intervals_of(found_sweep.sweep).items(), found_sweep.report.with_suffix("")
    return tuple(_AroundFile(when, folder / f"cloudwatch-{when}.csv", interval) for when, interval in intervals)


def read_around_once(found: FoundSweep, log: Log) -> Around:
    """Return the metrics before and after a sweep: stored ones, else fetched and stored beside the sweep's charts.

    Nothing is stored that is not complete yet: the minutes after a sweep, and what could not be fetched.
    """
    spec = next((run.cloudwatch for run in found.sweep.records if run.cloudwatch), None)
    if spec is None or not spec.resources:
        return around_of(found)
    source = source_of(spec.resources[0])
    for file in _around_files(found):
        if file.path.is_file():
            continue
        if time.time() < file.interval.to_s + PUBLISHED_S:
            log(f"{source.title}: the minutes {file.when} the sweep are not known yet; write the page again later")
            continue
        log(f"{source.title}: fetching the minutes {file.when} the sweep")
        try:
            fetched = source.fetch(spec, file.interval.from_s, file.interval.to_s, log)
        except HarnessError as error:
            log(f"the minutes {file.when} the sweep are not known: {error}")
            break
        if not fetched.is_empty:
            file.path.parent.mkdir(exist_ok=True)
            write_whole(file.path, fetched.csv_text)
    return around_of(found)


def page_path(baseline: FoundSweep, contender: FoundSweep) -> Path:
    """Return the path of the Markdown page: release-<baseline>-<contender>.md beside the contender."""
    assert baseline.report is not None and contender.report is not None
    folder = baseline.report.parent
    baseline_name = (
        baseline.report.stem if folder == contender.report.parent else f"{folder.name}-{baseline.report.stem}"
    )
    return contender.report.with_name(f"{kinds.RELEASE.named(baseline_name)}-{contender.report.stem}.md")


def write_release(release: Release, command: str, template: str) -> Written:
    """Write the page in all formats, its JSON and its charts. People's text is preserved, and in all."""
    path = page_path(release.base, release.new)
    titled = [replace(sweep, name=name) for sweep, name in zip(release.sweeps, release.names, strict=True)]
    charts = [Chart(chart.name, _DECLARATION + chart.svg) for chart in overlay_charts(titled, release.analyses)]
    links = _links(release, path.parent)
    note = release.new.sweep.record.note if release.new.sweep.record else ""
    write_page(
        path, lambda notes: release_page(release, Page(charts, notes, path.stem, command), links, template), note
    )
    write_charts(path.with_suffix(""), charts, CHART_NAME)
    result = result_of(release, chart_path(path.stem, charts))
    levels = [{"users": users, **to_plain(found)} for users, found in release.levels.items()]
    data = sweeps_data(release.sweeps, release.analyses, [release.whole])
    write_result(path, data | {"command": command, "levels": levels, KEY: result})
    confluence = path.with_suffix(".confluence.xml")
    write_whole(confluence, storage_format(path.read_text(encoding="utf-8")))
    return Written(path, write_report_page(path), confluence)


def _links(release: Release, folder: Path) -> Links:

    def relative(path: Path) -> str:
        return Path(os.path.relpath(path, folder)).as_posix()

    baseline, contender = release.base, release.new
    assert baseline.report is not None and contender.report is not None
    reports = (report for found in (baseline, contender) for report in found.run_reports.items())
    existing = {name: relative(path) for name, path in reports if path.is_file()}
    return Links(existing, Sides(relative(baseline.report), relative(contender.report)))


def storage_format(markdown: str) -> str:
    """Return the page in the storage format, without its title, which Confluence has apart.

    A table of contents comes first. Quotations become warning panels, code blocks code macros, verdicts in tables
    coloured lozenges. HTML in the text is escaped; relative links become text.
    """
    reader = MarkdownIt("commonmark", {"html": False, "xhtmlOut": True}).enable(["table", "strikethrough"])
    tokens = reader.parse(_COMMENT.sub("", _NO_XML.sub("\ufffd", markdown)))
    title_end = next((at + 1 for at, token in enumerate(tokens) if token.type == "heading_close"), 0)
    return _TOC + str(reader.renderer.render(_placed(tokens[title_end:]), reader.options, {}))


def _placed(tokens: Sequence[Token]) -> list[Token]:
    """Return the blocks with Confluence's macros instead of the elements of HTML."""
    result: list[Token] = []
    for token in tokens:
        if token.type in _PANELS:
            token = _html(_PANELS[token.type])
        elif token.type in ("fence", "code_block"):
            token = _html(_CODE.format(token.content.replace("]]>", "]]]]><![CDATA[>")))
        elif token.children and result and result[-1].type == "td_open" and token.content in _COLOURS:
            token.children = [_html(_STATUS.format(_COLOURS[token.content], token.content), "html_inline")]
        elif token.children:
            token.children = inline(token.children, lambda _: None, _image)
        result.append(token)
    return result


def _image(address: str, text: str) -> Markup:
    name = posixpath.basename(unquote(address))
    return _IMAGE.format(text, _IMAGE_WIDTH, name)


def _html(html: str, kind: str = "html_block") -> Token:
    return Token(kind, "", 0, content=str(html))
