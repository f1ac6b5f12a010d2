"""The pages of the site: the index, one per run, one for two runs side by side, one per report about several runs."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from markupsafe import Markup

from harness.history.catalogue import Catalogue, Document, Entry, first_line
from harness.history.summary_page import FIGURES, count_line, facts, figures, start_text, verdict_text
from harness.judge.result import Result
from harness.judge.verdict import DOUBTFUL, headline
from harness.metrics.metric import BESIDE, ERRORS, THROUGHPUT, Metric, Table, compared_metrics
from harness.report.charts.run_data import ChartData
from harness.report.results import result_in_markdown
from harness.report.run_result import MARKDOWN, RunResult
from harness.report.setup import load_text, setup_lines, users_text
from harness.run import kinds
from harness.site.body import chart_script, label_data, report_body, state_of
from harness.site.html import ImageOf, LinkOf, filled, prose
from harness.site.trend import CHANGES, METRIC, Trend

INDEX, COMPARE = "index.html", "compare.html"
DATA, ASSETS = "data", "assets"


@dataclass(frozen=True)
class Page:
    """A page of the site: its path from the root of the site, its HTML, and the images and flame graphs that it needs.

    These files have the same path in the site as in the reports folder. `asked` says of each path that a link or image
    of the page named whether the site has it. `data` is the script of a run's data, which may be empty.
    """

    path: str
    html: str
    files: tuple[str, ...] = ()
    asked: Mapping[str, bool] = field(default_factory=dict)
    data: str = ""


class Neighbours(NamedTuple):
    """The previous and the next run of the plan, and the last earlier run with statistics; empty if there is none."""

    before: str
    after: str
    baseline: str


class _Targets(NamedTuple):
    """What links and images of a report become; `shown` collects the files that the page needs, `asked` all paths."""

    link_of: LinkOf
    image_of: ImageOf
    shown: list[str]
    asked: dict[str, bool]

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the page needs, each once."""
        return tuple(dict.fromkeys(self.shown))


def page_path(identity: str) -> str:
    """Return the path of the page of a run or of another report: killbill-stripe/run-07_1.html."""
    return f"{identity}.html"


def data_path(identity: str) -> str:
    """Return the path of the data of a run."""
    return f"{DATA}/{identity}.js"


@dataclass(frozen=True)
class Site:
    """All targets of links: runs, reports, the images beside them and the flame graphs of runs."""

    catalogue: Catalogue
    images: frozenset[str]
    flame_graphs: frozenset[str] = frozenset()

    @cached_property
    def known(self) -> frozenset[str]:
        """The reports that have a page."""
        documents = (f"{document.folder}/{document.name}" for document in self.catalogue.documents)
        return frozenset((*(entry.id for entry in self.catalogue.entries), *documents))

    def has(self, path: str) -> bool:
        """Return whether a path of the reports folder is an image, a flame graph or a report that has a page."""
        return path in self.images or path in self.flame_graphs or posixpath.splitext(path)[0] in self.known

    @cached_property
    def newest_first(self) -> list[Entry]:
        """All runs, the newest first."""
        return sorted(self.catalogue.entries, key=lambda entry: entry.order_key, reverse=True)

    def index(self, notes: str, found: Sequence[Trend]) -> Page:
        """Return what changed in each plan and the list of all runs; `notes` are those of SUMMARY.md."""
        rows = [self._row(entry) for entry in self.newest_first]
        state = {row["id"]: row["state"] for row in rows}
        # A column without any change says nothing.
        shown = [index for index in range(len(CHANGES)) if any(trend.changes[index] for trend in found)]
        html = filled(
            "index.html.j2",
            root="",
            title="Load test runs",
            count=count_line(self.catalogue.entries),
            newest=self._newest(),
            trends=[{**_trend_row(trend, shown), "state": state[trend.newest]} for trend in found],
            has_earlier=any(trend.verdict for trend in found),
            metric=METRIC.phrase,
            changes=[CHANGES[index].phrase for index in shown],
            notes=self._prose(notes, "") if notes.strip() else "",
            rows=rows,
            figure_titles=[figure.title for figure in FIGURES],
            plans=sorted({row["plan"] for row in rows}),
            states=sorted({row["state"] for row in rows}),
            users=sorted({str(row["users"]) for row in rows if row["users"]}, key=_user_order),
            documents=[(kind.title, listed) for kind in kinds.KINDS if (listed := self._listed(kind.key))],
        )
        return Page(INDEX, html)

    def _newest(self) -> dict[str, str]:
        """Return what the newest run with a verdict found; empty without one."""
        entry = next((entry for entry in self.newest_first if entry.result and entry.result.verdict), None)
        if entry is None or entry.result is None:
            return {}
        stated = entry.result.stated
        headline = stated.headline or verdict_text(entry)
        started = start_text(entry.started_at)
        return {
            "id": entry.id, "href": quote(page_path(entry.id)), "tone": stated.tone, "headline": headline,
            "started": started,
        }  # fmt: skip

    def _listed(self, kind: str) -> list[dict[str, str]]:
        return [
            {
                "name": f"{document.folder}/{document.name}",
                "href": quote(page_path(f"{document.folder}/{document.name}")),
                "headline": document.result.headline,
            }
            for document in self.catalogue.documents
            if document.kind == kind
        ]

    def run(self, entry: Entry, markdown: str, charts: Sequence[ChartData], neighbours: Neighbours) -> Page:
        """Return the page of a run: its report, in which charts with data can be zoomed."""
        targets = self._targets(entry.plan, {f"{entry.name}/{chart.key}.svg" for chart in charts})
        link_of, image_of, *_ = targets
        result = _result_of(entry, markdown)
        html = filled(
            "run.html.j2",
            root="../",
            title=entry.id,
            run=entry.id,
            state=state_of(entry.result),
            problem=entry.problem,
            data=quote(f"../{data_path(entry.id)}") if charts else "",
            body=report_body(markdown, result, link_of, image_of, entry.result),
            before=_neighbour(neighbours.before),
            after=_neighbour(neighbours.after),
            compare=quote(f"../{COMPARE}") if entry.result else "",
            baseline=_neighbour(neighbours.baseline),
        )
        return Page(page_path(entry.id), html, targets.files, targets.asked)

    def document(self, document: Document, markdown: str) -> Page:
        """Return the page of a report about several runs."""
        targets = self._targets(document.folder)
        link_of, image_of, *_ = targets
        identity = f"{document.folder}/{document.name}"
        root, body = "../" * document.path.count("/"), report_body(markdown, document.result, link_of, image_of)
        html = filled("document.html.j2", root=root, title=identity, body=body)
        return Page(page_path(identity), html, targets.files)

    def compare(self) -> Page:
        """Return the page of two runs side by side, which its script fills."""
        choices = [
            (entry.id, f"{entry.id}: {', '.join(filter(None, [*facts(entry)[:2], state_of(entry.result)]))}")
            for entry in self.newest_first
            if entry.result and entry.run
        ]
        title = "Two runs side by side"
        return Page(COMPARE, filled("compare.html.j2", root="", title=title, choices=choices, columns=_columns()))

    def _row(self, entry: Entry) -> dict[str, Any]:
        """Return the cells and sort keys of a run in the index."""
        known = facts(entry)
        return {
            "id": entry.id,
            "plan": entry.plan,
            "name": entry.name,
            "order": f"{entry.plan} {entry.series:06} {entry.number:06}",
            "href": quote(page_path(entry.id)),
            "state": state_of(entry.result),
            "verdict": verdict_text(entry),
            "doubtful_reason": _doubtful_reason(entry),
            "started": known.started,
            "started_at": entry.started_at,
            "users": known.users,
            "profile": known.profile,
            "notes": self._prose(first_line(entry.notes), entry.plan) or entry.problem,
            "can_compare": entry.result is not None and entry.run is not None,
            "figures": figures(entry),
        }

    def _prose(self, markdown: str, folder: str) -> Markup:
        """Return notes of a report in `folder` as HTML for the index."""
        link_of, image_of, *_ = self._targets(folder, shown_in="")
        return prose(markdown, link_of, image_of)

    def _targets(self, folder: str, own_charts: Collection[str] = (), *, shown_in: str | None = None) -> _Targets:
        """Return the targets of a report in `folder`; the images `own_charts` can be zoomed.

        `shown_in` is the folder of the page that shows it, if that is another one.
        """
        shown: list[str] = []
        asked: dict[str, bool] = {}
        start = (folder if shown_in is None else shown_in) or "."

        def link_of(href: str) -> str | None:
            path, _, anchor = href.partition("#")
            target = posixpath.normpath(posixpath.join(folder, unquote(path)))
            stem, extension = posixpath.splitext(target)
            asked[target] = self.has(target)
            if target in self.flame_graphs:
                shown.append(target)
                return quote(posixpath.relpath(target, start))
            if extension not in (".md", ".json", ".html") or stem not in self.known:
                return None
            there = quote(posixpath.relpath(page_path(stem), start))
            return f"{there}#{anchor}" if anchor else there

        def image_of(source: str, text: str) -> Markup | None:
            path = unquote(source)
            if path in own_charts:
                figure = Markup('<figure class="chart" data-chart="{}"><figcaption>{}</figcaption></figure>\n')
                return figure.format(posixpath.basename(path).removesuffix(".svg"), text)
            target = posixpath.normpath(posixpath.join(folder, path))
            asked[target] = self.has(target)
            if target not in self.images:
                return None
            shown.append(target)
            there = quote(posixpath.relpath(target, folder or "."))
            return Markup('<img src="{}" alt="{}">').format(there, text)

        return _Targets(link_of, image_of, shown, asked)


def _trend_row(trend: Trend, shown: Sequence[int]) -> dict[str, object]:
    """Return what the template needs of a trend: addresses of its runs, and the changes with these places."""
    newest, against = (
        {"name": posixpath.basename(run), "href": quote(page_path(run))} for run in (trend.newest, trend.against)
    )
    return {"about": trend, "newest": newest, "against": against, "changes": [trend.changes[index] for index in shown]}


def _result_of(entry: Entry, markdown: str) -> Result:
    """Return the result of a run: that of its JSON, of a report without JSON what its Markdown says."""
    result = entry.result
    if result is None or result.verdict is None:
        return Result()
    if result.kind != MARKDOWN:
        return result.stated
    return replace(result.stated, headline=result_in_markdown(markdown).headline)


def _doubtful_reason(entry: Entry) -> str:
    """Return why a run is DOUBTFUL, else empty; the row shows it, because its values look like any others."""
    verdict = entry.result.verdict if entry.result else None
    return "; ".join(verdict.reasons) if verdict and verdict.state == DOUBTFUL else ""


def _neighbour(identity: str) -> dict[str, str] | None:
    name = posixpath.basename(identity)
    return {"id": identity, "name": name, "href": quote(page_path(name))} if identity else None


def _columns() -> str:
    """Return the metrics of the page for two runs as JSON: their paths in the data and their formats."""
    judged = [metric for metric in compared_metrics() if metric not in (THROUGHPUT, ERRORS)]
    return json.dumps(
        [
            _column("samples", ["sample_count"], 0),
            _metric_column(THROUGHPUT),
            *map(_metric_column, judged),
            _column("max ms", ["max_ms"], 0),
            _metric_column(ERRORS),
        ]
    )


def _metric_column(metric: Metric) -> dict[str, Any]:
    path = [metric.key] if metric.percentile is None else ["percentiles_ms", metric.percentile]
    path = list(metric.part) if metric.part else [BESIDE, metric.key] if metric.beside else path
    decimals = 0 if metric.is_percentile else None if metric.is_time else 2
    own = {"factor": 100 if metric.is_share else 1, "id": metric.id, "is_brief": Table.BRIEF in metric.tables}
    return _column(metric.title, path, decimals) | own


def _column(title: str, path: Sequence[str], decimals: int | None) -> dict[str, Any]:
    return {"title": title, "path": path, "decimals": decimals, "factor": 1, "id": "", "is_brief": False}


def _user_order(text: str) -> tuple[bool, float, str]:
    """Return the sort key of a number of users: 5, 50, 5/s."""
    number = text.removesuffix("/s")
    return number != text, float(number), text


def run_data(
    entry: Entry, result: RunResult, charts: Sequence[ChartData], against: Mapping[str, Any] | None = None
) -> str:
    """Return the script that passes a run's data to a page; `against` has the comparisons with other runs."""
    run, verdict = entry.run, result.verdict
    more = {
        "page": quote(page_path(entry.id)),
        "state": state_of(result),
        "verdict": headline(verdict) if verdict else "",
        "started": start_text(entry.started_at),
        "load": load_text(run.load) if run else "",
        "users": users_text(run.load) if run else "",
        "setup": setup_lines(run) if run else [],
        "reasons": list(verdict.reasons) if verdict else [],
        "caveats": [warning.text for warning in result.warnings],
        "against": against or {},
        "total": label_data(result.total) if result.total else None,
        "labels": [label_data(label) for label in result.labels],
    }
    return chart_script(entry.id, result.window, charts, more)
