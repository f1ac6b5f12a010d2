"""The content of pages: the result of a report with its key figures as tiles, then its Markdown as HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any
from urllib.parse import unquote

from markupsafe import Markup

from harness.base.records import to_plain
from harness.judge.result import Result, Tone
from harness.judge.verdict import DOUBTFUL, INTERRUPTED, INVALID
from harness.metrics.window import Window
from harness.report.charts.run_data import ChartData
from harness.report.results import around_headline
from harness.report.run_result import LabelResult, RunResult
from harness.site.html import ImageOf, LinkOf, filled, prose, prose_parts

# Longer values, as 102 → 122, need wide tiles to be on one line with their unit.
_LONG = 8


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
    """Return the HTML of a report: title, verdict and answer of its result, key figures, and the rest as it is.

    The first chart of a report of an earlier version, whose Markdown has it in a later section, comes before the first
    section. A report without a result (of 2015, or without readable JSON) stays as it is.
    """
    if not result.headline:
        return prose(markdown, link_of, image_of)
    sections: list[Markup] = []

    def in_head(source: str, text: str) -> Markup | None:
        sections.append(Markup())
        return image_of(source, text)

    def placed(source: str, text: str) -> Markup | None:
        figure = image_of(source, text)
        if figure is None or sections or unquote(source) != result.first_chart:
            return figure
        sections.append(figure)
        return Markup()

    before, behind = around_headline(markdown)
    parts = prose_parts(behind, link_of, in_head, placed)
    return filled(
        "report_body.html.j2",
        tone=tone_of(result, run),
        title=prose(before, link_of, image_of),
        headline=result.headline,
        head=parts.head,
        tiles=result.key_figures,
        has_long=any(len(tile.value) > _LONG for tile in result.key_figures),
        chart=Markup().join(sections),
        sections=parts.sections,
    )


def tone_of(result: Result, run: RunResult | None = None) -> Tone:
    """Return what a result means; the goals of a `run` of an earlier version are only in its verdict."""
    is_missed = run is not None and run.verdict is not None and bool(run.verdict.goals_missed)
    return replace(result, is_missed=result.is_missed or is_missed).tone


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
