"""The content of pages: verdict, goals, key metrics as tiles and response times come first, the set-up last."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from markupsafe import Markup

from harness.base import units
from harness.base.records import to_plain
from harness.compare.result import LabelResult, RunResult
from harness.history.summary_page import users_text
from harness.metrics.metric import ERRORS, METRICS, THROUGHPUT, Metric
from harness.metrics.window import Window
from harness.report.charts.run_charts import CHARTS
from harness.report.charts.run_data import ChartData
from harness.report.key_figures import by_importance, is_tail
from harness.report.parts import Part
from harness.report.profiles import ANCHOR
from harness.report.verdict import DOUBTFUL, INTERRUPTED, INVALID
from harness.site.html import filled

# The percentiles with a tile.
_PERCENTILES = ("50", "95", "99")
# So many warnings are printed below the verdict; the report has all of them.
_WARNINGS_MOST = 3
# Sections that are linked: by the page itself, and by those of nightlies and A/B tests.
_ANCHORS = {"Warnings": "warnings", "Where the time went": ANCHOR}
# The colour of a report about several runs, by its verdict.
_STATES = {
    "OK": "valid", "VALID": "valid", "IMPROVED": "valid",
    "REGRESSED": "invalid", "INVALID": "invalid", "FAILED": "invalid",
    "CANNOT TELL": "doubtful", "DOUBTFUL": "doubtful", "WARNED": "doubtful",
    "GOAL MISSED": "goal-missed", "INTERRUPTED": "interrupted",
}  # fmt: skip
_FIRST_CHART = f'<figure class="chart" data-chart="{CHARTS[0].name}">'


@dataclass(frozen=True)
class Tile:
    """A key metric of a run: its title, its formatted value and unit, and how many warnings question it."""

    title: str
    value: str
    unit: str
    warning_count: int


def state_of(result: RunResult | None) -> str:
    """Return the state of a run, by which the index filters; `result` is None when its JSON cannot be read."""
    if result is None:
        return "no metrics"
    verdict = result.verdict
    if verdict is None:
        return "not judged"
    if verdict.state in (DOUBTFUL, INVALID, INTERRUPTED):
        return verdict.state.lower()
    return "goal missed" if verdict.goals_missed else "valid"


def run_body(report: Markup, result: RunResult | None) -> Markup:
    """Return the content of a run's page from the HTML of its report.

    The report begins with verdict and goals. Before its first section the tiles are added, and the chart of the
    response times is moved there. A report without a verdict (of 2015, or without readable JSON) stays as it is.
    """
    if result is None or result.verdict is None:
        return report
    head, heading, rest = str(report).partition("<h2>")
    before, figure, rest = rest.partition(_FIRST_CHART)
    inside, end, after = rest.partition("</figure>\n")
    rest = heading + before + after
    for title, anchor in _ANCHORS.items():
        rest = rest.replace(f"<h2>{title}</h2>", f'<h2 id="{anchor}">{title}</h2>')
    warnings = [warning.text for warning in by_importance(result.warnings)]
    return filled(
        "run_body.html.j2",
        state=state_of(result),
        head=Markup(head),
        warnings=warnings[:_WARNINGS_MOST],
        more=units.plural(len(warnings) - _WARNINGS_MOST, "more warning") if len(warnings) > _WARNINGS_MOST else "",
        tiles=tiles(result),
        chart=Markup(figure + inside + end),
        rest=Markup(rest),
    )


def report_body(report: Markup, verdict: str) -> Markup:
    """Return the HTML of a report about several runs with its headline, its first bold paragraph, as a banner."""
    before, start, rest = str(report).partition("<p><strong>")
    headline, end, after = rest.partition("</p>")
    if not end:
        return report
    state = _STATES.get(verdict, "answer")
    return Markup(f'{before}<div class="judged {state}">\n{start}{headline}{end}\n</div>{after}')


def tiles(result: RunResult) -> tuple[Tile, ...]:
    """Return the key metrics of the load in the measurement window; those that are not known are left out."""
    total = result.total
    if total is None:
        return ()
    metrics = (THROUGHPUT, *(metric for metric in METRICS if metric.percentile in _PERCENTILES), ERRORS)
    found = [_tile("users", users_text(result.run.load), "", [Part.LOAD], result)] if result.run else []
    if total.sample_count is not None:
        found.append(_tile("samples", str(total.sample_count), "", [Part.COUNT], result))
    for metric in metrics:
        value = metric.of(total)
        if value is not None:
            title, parts = "errors" if metric == ERRORS else metric.phrase, _parts_of(metric, total.sample_count or 0)
            found.append(_tile(title, metric.text(value), metric.unit, parts, result))
    if total.max_ms is not None:
        found.append(_tile("max", units.ms_text(total.max_ms), "ms", [], result))
    return tuple(found)


def _parts_of(metric: Metric, sample_count: int) -> list[Part]:
    """Return the parts of a report whose warnings question a metric."""
    if metric == ERRORS:
        return [Part.ERRORS]
    if metric == THROUGHPUT:
        return [Part.COUNT]
    return [Part.MEDIAN] if metric.percentile == "50" else [Part.TAIL] if is_tail(metric, sample_count) else []


def _tile(title: str, value: str, unit: str, parts: Sequence[Part], result: RunResult) -> Tile:
    questioning = [warning for warning in by_importance(result.warnings) if set(parts) & set(warning.concerns)]
    return Tile(title, value, unit, len(questioning))


def chart_script(identity: str, window: Window | None, charts: Sequence[ChartData], more: Mapping[str, Any]) -> str:
    """Return the script that passes the data of a run's charts to its page; `more` is added to the data.

    It is ASCII without "<", so that no label ends it, wherever it is.
    """
    is_cut = window is not None and window.length_s < window.run_s
    data = {
        "id": identity,
        **more,
        "end": window.run_s if window else 0,
        "band": [window.from_s, window.to_s] if window and is_cut else None,
        "charts": to_plain(charts),
    }
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f"addRun({text});\n"


def label_data(figures: LabelResult) -> Mapping[str, Any]:
    """Return the metrics of a label as plain data."""
    return {key: value for key, value in asdict(figures).items() if key not in ("batches", "histogram")}
