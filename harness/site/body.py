"""The content of pages: verdict, goals, key metrics as tiles and response times come first, the set-up last."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import unquote

from markupsafe import Markup

from harness.base import units
from harness.base.records import to_plain
from harness.compare.result import LabelResult, RunResult
from harness.metrics.window import Window
from harness.report.charts.run_data import ChartData
from harness.report.key_figures import by_importance
from harness.report.results import Result, around_headline
from harness.report.verdict import DOUBTFUL, INTERRUPTED, INVALID
from harness.site.html import ImageOf, LinkOf, filled, prose, prose_parts

# So many warnings are printed below the verdict; the report has all of them.
_WARNINGS_MOST = 3
# The colour of a report about several runs, by its verdict.
_STATES = {
    "OK": "valid", "VALID": "valid", "IMPROVED": "valid",
    "REGRESSED": "invalid", "INVALID": "invalid", "FAILED": "invalid",
    "CANNOT TELL": "doubtful", "DOUBTFUL": "doubtful", "WARNED": "doubtful",
    "GOAL MISSED": "goal-missed", "INTERRUPTED": "interrupted",
}  # fmt: skip


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


def report_body(
    markdown: str, result: Result, link_of: LinkOf, image_of: ImageOf, run: RunResult | None = None
) -> Markup:
    """Return the HTML of a report, with its result from the JSON in the place of its headline.

    The key figures and the first chart come before the first section. The page of a `run` has its state and its
    warnings, too. A report without a result (of 2015, or without readable JSON) stays as it is.
    """
    if not result.headline:
        return prose(markdown, link_of, image_of)
    chart: list[Markup] = []

    def placed(source: str, text: str) -> Markup | None:
        figure = image_of(source, text)
        if figure is None or unquote(source) != result.first_chart:
            return figure
        chart.append(figure)
        return Markup("")

    before, behind = around_headline(markdown)
    parts = prose_parts(behind, link_of, placed)
    warnings = [warning.text for warning in by_importance(run.warnings)] if run else []
    return filled(
        "report_body.html.j2",
        state=state_of(run).replace(" ", "-") if run else _STATES.get(result.verdict, "answer"),
        title=prose(before, link_of, image_of),
        headline=result.headline,
        warnings=warnings[:_WARNINGS_MOST],
        more=units.plural(len(warnings) - _WARNINGS_MOST, "more warning") if len(warnings) > _WARNINGS_MOST else "",
        head=parts.head,
        tiles=result.key_figures,
        chart=Markup("").join(chart),
        sections=parts.sections,
    )


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
