"""Renders the Markdown report of several sweeps side by side, and compares two sweeps level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

from harness.base import units
from harness.metrics.metric import Table, columns_of_runs
from harness.report.markdown import image
from harness.report.results import Result, worst
from harness.report.tables import cell, one_line, table
from harness.report.template import filled
from harness.sweep.analysis import SweepAnalysis
from harness.sweep.levels import Sweep, level_head, levels_of
from harness.sweep.pairs import FigureComparison, SweepComparison, headline, sentence
from harness.sweep.render import HEADS, PRINTS, Page, knows, set_up
from harness.sweep.text import answer_text, findings, result_of, users_text, warnings_of

# One table for each of these values.
_OVERLAID = tuple(metric.key for metric in columns_of_runs(Table.OVERLAY))


def several_sweeps_report(
    sweeps: Sequence[Sweep],
    analyses: Sequence[SweepAnalysis],
    comparisons: Sequence[SweepComparison],
    page: Page,
    links: Sequence[str],
) -> str:
    """Return the report of several sweeps; `links` lead to their own reports and are empty without one."""
    pairs = [(cell(one.name), link) for one, link in zip(sweeps, links, strict=True)]
    named = [f"[{name}]({quote(link)})" if link else name for name, link in pairs]
    analysed = list(zip(named, sweeps, analyses, strict=True))
    known = [figure for figure in _OVERLAID if any(knows(sweep.levels, figure) for sweep in sweeps)]
    return filled(
        "harness.sweep",
        "sweeps.md.j2",
        command=one_line(page.command),
        names=[cell(sweep.name) for sweep in sweeps],
        headline=cell(result_of_sweeps(sweeps, analyses, comparisons).headline),
        answers=[(name, cell(answer_text(sweep, analysis))) for name, sweep, analysis in analysed],
        setup_table=_setup_table(sweeps, analyses),
        tables=[(HEADS[figure], _overlay_table(sweeps, figure)) for figure in known],
        comparisons=[
            {
                "title": cell(f"{comparison.new} against {comparison.base}"),
                "sentences": [cell(sentence(comparison, figure)) for figure in comparison.figures],
                "table": comparison_table(comparison),
                "reasons": [
                    cell(f"{one.key.text}, {one.verdict}: {one.reason}") for one in comparison.verdicts if one.reason
                ],
                "only": [cell(text) for text in one_sided(comparison)],
            }
            for comparison in comparisons
        ],
        images=[image(chart, page.folder) for chart in page.charts],
        findings=[
            (name, [(what, cell(text)) for what, text in findings(sweep, analysis).items()])
            for name, sweep, analysis in analysed
        ],
        notes=page.notes,
        warnings=_warnings(sweeps, analyses) + [cell(text) for found in comparisons for text in found.warnings],
    )


def result_of_sweeps(
    sweeps: Sequence[Sweep],
    analyses: Sequence[SweepAnalysis],
    comparisons: Sequence[SweepComparison],
    first_chart: str = "",
) -> Result:
    """Return what the report found, for those who show it; the verdict is the comparison's, else the worst of all."""
    if len(sweeps) == 1:
        return result_of(sweeps[0], analyses[0], first_chart)
    judged = [found.verdict for found in comparisons if found.verdict]
    each = [result_of(sweep, analysis) for sweep, analysis in zip(sweeps, analyses, strict=True)]
    return Result(
        kind="compare-sweeps" if judged else "sweeps",
        title=", ".join(sweep.name for sweep in sweeps),
        verdict=worst(judged or [one.verdict for one in each]),
        headline=_headline(sweeps, analyses, comparisons),
        key_figures=tuple(
            replace(figure, name=f"{figure.name}, {one.title}") for one in each for figure in one.key_figures
        ),
        first_chart=first_chart,
    )


def one_sided(found: SweepComparison) -> list[str]:
    """Return the levels that only one of two sweeps has, a sentence for each of them."""
    sides = (
        (found.base, found.only_base, found.only_base_settings),
        (found.new, found.only_new, found.only_new_settings),
    )
    named = [(name, ", ".join(settings) or (users_text(users) if users else "")) for name, users, settings in sides]
    return [f"Only {name} has {levels}: not compared." for name, levels in named if levels]


def _warnings(sweeps: Sequence[Sweep], analyses: Sequence[SweepAnalysis]) -> list[str]:
    """Return each warning once, with the names of its sweeps."""
    about: dict[str, list[str]] = {}
    for sweep, analysis in zip(sweeps, analyses, strict=True):
        for text in warnings_of(sweep, analysis):
            about.setdefault(text, []).append(sweep.name)
    return [cell(f"{', '.join(names)}: {text}") for text, names in about.items()]


def _headline(
    sweeps: Sequence[Sweep], analyses: Sequence[SweepAnalysis], comparisons: Sequence[SweepComparison]
) -> str:
    if len(comparisons) == 1 and comparisons[0].figures:
        return headline(comparisons[0])
    parts = []
    for sweep, analysis in zip(sweeps, analyses, strict=True):
        answer = analysis.answer
        if sweep.is_of_setting:
            parts.append(f"{sweep.name}: {answer_text(sweep, analysis).rstrip('.')}")
        elif answer.users is not None:
            least = "at least " if answer.is_least or answer.perhaps_users is not None else ""
            parts.append(f"{sweep.name}: {least}{units.plural(answer.users, 'user')} within the goal")
        elif analysis.best_users is not None:
            rate, users = units.rate_text(analysis.best_rate_per_s), units.plural(analysis.best_users, "user")
            parts.append(f"{sweep.name}: best {rate} req/s at {users}")
        else:
            parts.append(f"{sweep.name}: throughput is unknown")
    return "; ".join(parts) + "."


def _setup_table(sweeps: Sequence[Sweep], analyses: Sequence[SweepAnalysis]) -> str:
    """Return the table of set-up differences, one column per sweep."""
    lines = [dict(set_up(sweep, analysis)) for sweep, analysis in zip(sweeps, analyses, strict=True)]
    names = dict.fromkeys(name for line in lines for name in line)
    values = {name: [line.get(name, "") for line in lines] for name in names}
    rows = [[cell(name), *map(cell, texts)] for name, texts in values.items() if len(set(texts)) > 1]
    heads = ["", *(cell(sweep.name) for sweep in sweeps)]
    return table(heads, rows, text_columns=len(heads)) if rows else ""


def _overlay_table(sweeps: Sequence[Sweep], figure: str) -> str:
    figures = [{level.key: level.figures for level in sweep.levels} for sweep in sweeps]
    levels = levels_of((level.users, level.runs[0]) for sweep in sweeps for level in sweep.levels)
    rows = [
        [cell(level.value), *(PRINTS[figure](one[level.key].of(figure)) if level.key in one else "" for one in figures)]
        for level in levels
    ]
    return table([cell(level_head(levels)), *(cell(sweep.name) for sweep in sweeps)], rows)


def comparison_table(found: SweepComparison) -> str:
    """Return the table of two sweeps: both values, and the difference in % of the baseline."""
    levels = [delta.key for delta in found.figures[0].deltas] if found.figures else []
    heads = [cell(levels[0].setting.partition("=")[0] if levels else "") or "users"]
    for figure in found.figures:
        head = HEADS[figure.figure]
        heads += [f"{cell(found.base)} {head}", f"{cell(found.new)} {head}", "delta %"]
    verdicts = {level.key: level.verdict for level in found.verdicts}
    heads += ["verdict"] if verdicts else []
    rows = [
        [
            cell(level.value),
            *(text for figure in found.figures for text in _delta_cells(figure, index)),
            *([verdicts.get(level, "~")] if verdicts else []),
        ]
        for index, level in enumerate(levels)
    ]
    return table(heads, rows)


def _delta_cells(figure: FigureComparison, index: int) -> list[str]:
    delta, show = figure.deltas[index], PRINTS[figure.figure]
    percent = "~" if delta.delta_ratio is None else f"{delta.delta_ratio * 100:+.2f}"
    return [show(delta.base), show(delta.new), percent]
