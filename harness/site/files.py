"""Writes the static site into its own folder: pages, data, scripts and the chart library."""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from glob import escape
from importlib import resources
from pathlib import Path
from typing import Any

from markupsafe import Markup

from harness.base import units
from harness.base.errors import HarnessError, UsageError
from harness.base.kept import stamps
from harness.base.log import Log
from harness.base.paths import shown
from harness.base.records import read_record, to_plain
from harness.compare.answer import headline
from harness.compare.comparison import BETTER, OK, REGRESSED, LabelComparison
from harness.compare.decision import compare
from harness.compare.sources import read_result
from harness.history.catalogue import Catalogue, Entry, runs_of
from harness.history.files import read_catalogue, read_entry
from harness.history.summary_files import summary_notes
from harness.judge.result import Result
from harness.judge.summary import FORMAT_VERSION, RunSummary
from harness.plan.thresholds import Thresholds
from harness.report.charts.run_charts import plotted, run_charts
from harness.report.charts.run_data import ChartData, ChartSource
from harness.report.results import stated_result
from harness.report.run_result import RunResult
from harness.run.directory import RunDirectory, read_object, write_whole
from harness.site.body import chart_script, report_body
from harness.site.kept_pages import KeptPages, made_of_text
from harness.site.pages import ASSETS, Neighbours, Page, Site, page_path, run_data
from harness.site.single import LIMIT_BYTES, embedded, single_page, smaller
from harness.site.trend import WholeOf, trends
from harness.system.profile_files import FLAME_GRAPHS

# Marks a folder as a site, which a newer site may replace.
_MARK = ".load-test-site"
_IMAGE_SUFFIXES = (".svg", ".png")
# reports/<plan>/<run>
_DEPTH_OF_RUNS = 2
# How many earlier runs a run is compared with: comparing all pairs grows with the square of the runs.
RUNS_BEFORE = 5


def _usual_thresholds(_plan: str) -> Thresholds:
    return Thresholds()


def write_site(
    reports_dir: Path,
    output: Path,
    charts: Path,
    thresholds_of: Callable[[str], Thresholds] = _usual_thresholds,
) -> Catalogue:
    """Write the site of all reports in `reports_dir` to `output` and return their catalogue.

    `charts` contains the chart library; `thresholds_of` returns the least changes that matter for a plan. An existing
    site is replaced as a whole; a folder with other content is refused.
    """
    if output.exists() and not (output / _MARK).is_file() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"{output}: contains something other than a site", "name a new or empty folder")
    catalogue = read_catalogue(reports_dir)
    draft = output.with_name(f".{output.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
        (draft / _MARK).touch()
        _write_assets(draft, charts)
        pages = KeptPages(reports_dir, output, draft)
        _write_pages(catalogue, pages, thresholds_of)
        shutil.rmtree(output, ignore_errors=True)
        draft.rename(output)
        pages.write()
    except OSError as error:
        raise UsageError(f"{output}: cannot be written ({error.strerror})", "free space, or name another") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return catalogue


def _write_pages(catalogue: Catalogue, pages: KeptPages, thresholds_of: Callable[[str], Thresholds]) -> None:
    reports_dir = pages.reports_dir
    images = frozenset(_images(str(reports_dir)))
    flame_graphs = frozenset(
        path.relative_to(reports_dir).as_posix() for path in reports_dir.glob(f"*/*/{FLAME_GRAPHS}")
    )
    site = Site(catalogue, images, flame_graphs)
    read = lru_cache(RUNS_BEFORE + 1)(partial(_read_whole, reports_dir))

    def whole_of(entry: Entry) -> RunResult | None:
        return read(entry.plan, entry.name) if entry.result else None

    found = trends(catalogue.entries, thresholds_of, whole_of)
    pages.add(site.index(summary_notes(reports_dir), found))
    pages.add(site.compare())
    for document in catalogue.documents:
        path = reports_dir / document.path
        identity = page_path(f"{document.folder}/{document.name}")
        made_of = made_of_text(stamp, to_plain(document)) if (stamp := stamps([path])) else ""
        if not pages.reuse(identity, made_of, site):
            text = path.read_text(encoding="utf-8", errors="replace")
            pages.add(site.document(document, text), made_of)
    for plan in {entry.plan for entry in catalogue.entries}:
        _write_runs(site, runs_of(catalogue.entries, plan), pages, thresholds_of(plan), whole_of)


def _images(reports_dir: str) -> Iterator[str]:
    """Yield the paths of images in the folders of plans and of runs."""
    for path, folders, names in os.walk(reports_dir, followlinks=True):
        depth = path.count(os.sep) - reports_dir.count(os.sep)
        if depth == _DEPTH_OF_RUNS:
            folders.clear()
        if depth:
            yield from (f"{path[len(reports_dir) + 1 :]}/{name}" for name in names if name.endswith(_IMAGE_SUFFIXES))


def _write_runs(site: Site, runs: Sequence[Entry], pages: KeptPages, thresholds: Thresholds, whole_of: WholeOf) -> None:
    """Write the pages and the data of the runs of a plan, oldest first."""
    names = ["", *(entry.id for entry in runs), ""]
    limits = to_plain(thresholds)
    before: deque[Entry] = deque(maxlen=RUNS_BEFORE)
    for index, entry in enumerate(runs):
        neighbours = Neighbours(names[index], names[index + 2], before[-1].id if before else "")
        parts = [(one.id, pages.stamp_of(one)) for one in (entry, *before)]
        made_of = made_of_text(parts, neighbours, limits) if all(stamp for _, stamp in parts) else ""
        if not pages.reuse(page_path(entry.id), made_of, site):
            against = _against(before, entry, thresholds, whole_of)
            pages.add(_run_page(site, entry.id, neighbours, against, pages.reports_dir), made_of)
        if entry.result:
            before.append(entry)


def _read_whole(reports_dir: Path, plan: str, name: str) -> RunResult | None:
    """Return a run's result for a comparison; None without one."""
    try:
        return read_result(reports_dir / plan / name)
    except (HarnessError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None  # an older JSON has statistics for a list only


def _against(
    before: Iterable[Entry], entry: Entry, thresholds: Thresholds, whole_of: WholeOf
) -> dict[str, list[dict[str, Any]]]:
    """Return the comparisons of a run with earlier runs: as their contender, and as their baseline."""
    comparisons: dict[str, list[dict[str, Any]]] = {}
    if (result := whole_of(entry)) is None:
        return comparisons
    for earlier in before:
        if (other := whole_of(earlier)) is None:
            continue
        try:
            comparisons[earlier.id] = [
                comparison_json(other, result, thresholds),
                comparison_json(result, other, thresholds),
            ]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            continue  # a hand-written JSON may have values that cannot be compared
    return comparisons


def _run_page(
    site: Site,
    identity: str,
    neighbours: Neighbours,
    against: dict[str, list[dict[str, Any]]],
    reports_dir: Path,
) -> Page:
    """Return the page of a run with its data, which are empty without a result."""
    directory = RunDirectory(reports_dir / identity)
    entry = read_entry(directory)
    data = _data(directory) if entry.result and directory.summary_json.is_file() else None
    charts = _charts(data) if data is not None else ()
    page = site.run(entry, _markdown(directory, data), charts, neighbours)
    return replace(page, data=run_data(entry, entry.result, charts, against)) if entry.result else page


def _charts(data: dict[str, Any]) -> tuple[ChartData, ...]:
    """Return the charts with data of a run's JSON; none when only its statistics are readable."""
    try:
        charts = tuple(chart for _, chart in plotted(ChartSource.of_json(data)) if chart.lines)
        to_plain(charts)  # as chart_script does
    except (HarnessError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return ()
    return charts


def _markdown(directory: RunDirectory, data: dict[str, Any] | None) -> str:
    """Return a run's report; without the file it is made from the run's JSON."""
    if directory.report.is_file():
        return directory.report.read_text(encoding="utf-8", errors="replace")
    heading = f"# {directory.plan}/{directory.name}\n"
    if data is None or data["format_version"] != FORMAT_VERSION:
        return heading
    try:
        summary = read_record(RunSummary, data, str(directory.summary_json))
    except HarnessError:
        return heading
    from harness.report.markdown import report  # imported late: most runs have their report

    return report(summary, run_charts(summary), summary.run.note if summary.run else "", directory.name)


def _data(directory: RunDirectory) -> dict[str, Any]:
    return read_object(directory.summary_json)


def _write_assets(target: Path, charts: Path) -> None:
    folder = target / ASSETS
    folder.mkdir()
    for asset in (resources.files("harness.site") / "assets").iterdir():
        (folder / asset.name).write_bytes(asset.read_bytes())
    for path in sorted(charts.rglob("*.min.js")):
        shutil.copyfile(path, folder / path.name)
        licence = _licence(path)
        shutil.copyfile(licence, folder / f"{licence.parents[1].name}-{licence.name}")


def write_run_page(directory: RunDirectory, charts: Path) -> Path:
    """Write the report of a run, with its JSON and charts, as one HTML file beside it and return the file's path.

    `charts` contains the chart library. The page is the one of the site, and begins with verdict, goals and key
    metrics.
    """
    data = _data(directory)
    result = RunResult.of(read_record(RunSummary, data, str(directory.summary_json)))
    page_charts = _charts(data)
    body = _single_body(directory.report, result.stated, frozenset(chart.key for chart in page_charts), result)
    scripts = []
    if page_charts:
        scripts = [*library_scripts(charts), asset_text("charts.js"), asset_text("run.js")]
        scripts.append(chart_script(directory.name, result.window, page_charts, {}))
    return _write_single(directory.report, result.name, body, scripts)


def write_report_page(report: Path) -> Path:
    """Write a report about several runs as one HTML file beside it, with its charts, and return the file's path."""
    return _write_single(report, report.stem, _single_body(report, stated_result(report)), ())


def try_report_page(report: Path, log: Log) -> Path | None:
    """Write a report as `write_report_page` does and return its path; log why and return None when that fails."""
    try:
        return write_report_page(report)
    except HarnessError as error:  # what it reports about is complete
        log(str(error))
        return None


def page_line(page: Path) -> str:
    """Return the line that names a written HTML file, with its size."""
    return f"{shown(page)}: the report as one HTML file of {page.stat().st_size / units.BYTES_PER_KB:.0f} KB"


def _single_body(
    report: Path, result: Result, charts: frozenset[str] = frozenset(), run: RunResult | None = None
) -> Markup:
    """Return the HTML of a report with the images whose names begin with its own, and those in the folder of its name.

    Links to other files become plain text.
    """
    images = {
        path.relative_to(report.parent).as_posix(): path.read_bytes()
        for suffix in _IMAGE_SUFFIXES
        for path in (*report.parent.glob(f"{escape(report.stem)}*{suffix}"), *report.with_suffix("").glob(f"*{suffix}"))
        if path.is_file()
    }
    markdown = report.read_text(encoding="utf-8", errors="replace")
    return report_body(markdown, result, lambda _href: None, embedded(images, charts), run)


def _write_single(report: Path, title: str, body: Markup, scripts: Sequence[str]) -> Path:
    scripts = [*scripts, asset_text("tables.js"), asset_text("images.js")]
    for fitted in smaller(body, report.name):
        page = single_page(title, fitted, asset_text("site.css"), scripts)
        if len(page.encode()) <= LIMIT_BYTES:
            break
    path = report.with_suffix(".html")
    write_whole(path, page)
    return path


def asset_text(name: str) -> str:
    """Return the text of a script or style of the site."""
    return (resources.files("harness.site") / "assets" / name).read_text(encoding="utf-8")


def library_scripts(charts: Path) -> list[str]:
    """Return the scripts of the chart library, each with its licence."""
    return [
        f"/*\n{_licence(path).read_text(encoding='utf-8')}*/\n{path.read_text(encoding='utf-8')}"
        for path in sorted(charts.rglob("*.min.js"))
    ]


def _licence(library: Path) -> Path:
    """Return the licence of …/<library>/<version>/dist/<library>.min.js: …/<library>/<version>/LICENSE.md."""
    return library.parents[1] / "LICENSE.md"


def comparison_json(baseline: RunResult, contender: RunResult, thresholds: Thresholds) -> dict[str, Any]:
    """Return headline, warnings and, by label and metric, what became worse or better."""
    try:
        comparison = compare([baseline], [contender], thresholds)
    except UsageError as error:
        return {"headline": f"Not judged: {error.what}.", "caveats": [], "marks": {}}
    rows = [*([comparison.total] if comparison.total else []), *comparison.labels]
    marks = {label.label: marked for label in rows if (marked := _marks(label))}
    return {"headline": headline(comparison), "caveats": list(comparison.warnings), "marks": marks}


def _marks(label: LabelComparison) -> dict[str, str]:
    """Return worse, better or same of each metric with a verdict; with CANNOT TELL the page shows no change."""
    words = {REGRESSED: "worse", BETTER: "better", OK: "same"}
    return {metric.metric.id: words[metric.word] for metric in label.metrics if metric.word in words}
