"""Renders the Markdown report of several sweeps side by side, and compares two sweeps level by level."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote

from harness.base import units
from harness.base.command import changed_command
from harness.base.plain_text import one_line
from harness.compare.comparison import CANNOT_TELL, REGRESSED
from harness.judge.account import AccountLine
from harness.judge.result import NextStep, Result
from harness.metrics.metric import AVERAGE, P95, Table, columns_of_runs
from harness.report.account_table import accounts_line, accounts_table
from harness.report.change_text import signed_text
from harness.report.first_screen import ROWS_MOST, WEAKENED_MOST, first_screen, printed_screen, shortest
from harness.report.markdown import image
from harness.report.results import worst
from harness.report.tables import cell, table
from harness.report.template import filled
from harness.report.wide_tables import narrow_tables
from harness.sweep.analysis import SweepAnalysis
from harness.sweep.answer import result_of
from harness.sweep.level_tables import HEADS, PRINTS, knows
from harness.sweep.levels import Sweep, level_head, levels_of
from harness.sweep.pairs import SweepComparison, headline, sentence
from harness.sweep.render import SweepPage, set_up
from harness.sweep.text import doubts_of, findings, notes_of, users_text

# One table for each of these values.
_OVERLAID = tuple(metric.key for metric in columns_of_runs(Table.OVERLAY))
# The values of the key table of a comparison.
KEYS = (AVERAGE.key, P95.key)


def several_sweeps_report(
    sweeps: Sequence[Sweep],
    analyses: Sequence[SweepAnalysis],
    comparisons: Sequence[SweepComparison],
    page: SweepPage,
    links: Sequence[str],
) -> str:
    """Return the report of several sweeps; `links` lead to their own reports and are empty without one."""
    pairs = [(cell(one.name), link) for one, link in zip(sweeps, links, strict=True)]
    named = [f"[{name}]({quote(link)})" if link else name for name, link in pairs]
    known = [figure for figure in _OVERLAID if any(knows(sweep.levels, figure) for sweep in sweeps)]
    images, doubts = [image(chart, page.folder) for chart in page.charts], _doubts(sweeps, analyses, comparisons)
    analysed = list(zip(named, sweeps, analyses, strict=True))
    return filled(
        "harness.sweep",
        "sweeps.md.j2",
        command=one_line(page.command),
        names=[cell(sweep.name) for sweep in sweeps],
        first_screen=first_screen(
            result_of_sweeps(sweeps, analyses, comparisons),
            chart=images[0] if images else "",
            table=_key_table(named, sweeps, analyses, comparisons),
            weakened_by=[cell(text) for text in doubts[:WEAKENED_MOST]],
        ),
        answers=[(name, cell(result_of(sweep, analysis).headline)) for name, sweep, analysis in analysed],
        setup_table=_setup_table(sweeps, analyses),
        tables=[(HEADS[figure], _overlay_table(sweeps, figure)) for figure in known],
        comparisons=[
            {
                "title": cell(f"{comparison.new} against {comparison.base}"),
                "sentences": [cell(sentence(comparison, figure)) for figure in comparison.figures],
                "tables": comparison_tables(comparison),
                "reasons": [
                    cell(f"{one.key.text}, {one.verdict}: {one.reason}") for one in comparison.verdicts if one.reason
                ],
            }
            for comparison in comparisons
        ],
        images=images[1:],
        account_table=accounts_table(_accounts(comparisons), "run"),
        findings=[
            (name, [(what, cell(text)) for what, text in findings(sweep, analysis).items()])
            for name, sweep, analysis in analysed
        ],
        notes=page.notes,
        warnings=[
            cell(text)
            for text in (*doubts[WEAKENED_MOST:], *with_names([sweep.name for sweep in sweeps], map(notes_of, sweeps)))
        ],
    )


def printed_sweeps_screen(
    sweeps: Sequence[Sweep], analyses: Sequence[SweepAnalysis], comparisons: Sequence[SweepComparison]
) -> str:
    """Return the first screen of several sweeps for a terminal."""
    key_table = _key_table([cell(sweep.name) for sweep in sweeps], sweeps, analyses, comparisons)
    return printed_screen(
        result_of_sweeps(sweeps, analyses, comparisons),
        table="\n\n".join(filter(None, (key_table, accounts_line(_accounts(comparisons))))),
        weakened_by=_doubts(sweeps, analyses, comparisons)[:WEAKENED_MOST],
    )


def _accounts(comparisons: Sequence[SweepComparison]) -> dict[str, Sequence[AccountLine]]:
    """Return the accounts of all runs that were compared, and of both sides."""
    return {name: lines for found in comparisons for name, lines in found.accounts.items()}


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
    verdict = worst(judged or [one.verdict for one in each])
    return Result(
        kind="compare-sweeps" if judged else "sweeps",
        title=", ".join(sweep.name for sweep in sweeps),
        verdict=verdict,
        headline=_headline(sweeps, analyses, comparisons, verdict),
        key_figures=tuple(
            replace(figure, name=f"{figure.name}, {one.title}") for one in each for figure in one.key_figures
        ),
        first_chart=first_chart,
        goals=each[0].goals if len({one.goals for one in each}) == 1 else "",
        next_steps=tuple(_next_steps(sweeps[1], verdict)) if judged else (),
    )


def _next_steps(contender: Sweep, verdict: str) -> Iterator[NextStep]:
    """Yield what to do after a comparison, by its verdict, with the command of the contender."""
    command = contender.record.command if contender.record else ""
    if command and verdict == CANNOT_TELL:
        repeated = changed_command(command, repeat="5")
        yield NextStep("Repeat both sweeps, so that chance and change can be told apart", repeated)
    elif command and verdict == REGRESSED:
        yield NextStep("See what each request costs, in both sweeps", changed_command(command, profile=None))


def one_sided(found: SweepComparison) -> list[str]:
    """Return the levels that only one of two sweeps has, a sentence for each of them."""
    sides = (
        (found.base, found.only_base, found.only_base_settings),
        (found.new, found.only_new, found.only_new_settings),
    )
    named = [(name, ", ".join(settings) or (users_text(users) if users else "")) for name, users, settings in sides]
    return [f"Only {name} has {levels}: not compared." for name, levels in named if levels]


def _doubts(
    sweeps: Sequence[Sweep], analyses: Sequence[SweepAnalysis], comparisons: Sequence[SweepComparison]
) -> list[str]:
    """Return what weakens the answer: of the comparisons, then of each sweep."""
    only = [text for found in comparisons for text in one_sided(found)]
    of_runs = [text for found in comparisons for text in found.warnings]
    return [*only, *with_names([sweep.name for sweep in sweeps], map(doubts_of, sweeps, analyses)), *of_runs]


def with_names(names: Sequence[str], texts: Iterable[Iterable[str]]) -> list[str]:
    """Return each warning once, with the names of its sweeps."""
    about: dict[str, list[str]] = {}
    for name, of_sweep in zip(names, texts, strict=True):
        for text in of_sweep:
            about.setdefault(text, []).append(name)
    return [f"{', '.join(names)}: {text}" for text, names in about.items()]


def _headline(
    sweeps: Sequence[Sweep],
    analyses: Sequence[SweepAnalysis],
    comparisons: Sequence[SweepComparison],
    verdict: str,
) -> str:
    if len(comparisons) == 1 and comparisons[0].figures:
        text = headline(comparisons[0])
        return text if text.startswith(verdict) or CANNOT_TELL in text else shortest(f"{verdict}: {text}", text)
    key = "users" if all(one.answer.users is not None for one in analyses) else "best_rate_per_s"
    parts = []
    for sweep, analysis in zip(sweeps, analyses, strict=True):
        users, rate = analysis.answer.users, analysis.best_rate_per_s
        value = units.plural(users, "user") if key == "users" and users else f"{units.rate_text(rate) or '?'} req/s"
        parts.append(f"{sweep.name} {value}")
    what = "within the goal" if key == "users" else "best throughput"
    return shortest(
        f"{verdict}: {what}: {', '.join(parts)}.", f"{verdict}: {units.plural(len(sweeps), 'sweep')}, see the table."
    )


def _key_table(
    names: Sequence[str],
    sweeps: Sequence[Sweep],
    analyses: Sequence[SweepAnalysis],
    comparisons: Sequence[SweepComparison],
) -> str:
    """Return the table of a comparison, else a row for each sweep."""
    if len(comparisons) == 1 and comparisons[0].figures:
        [found] = comparisons
        text = comparison_table(replace(found, base="baseline", new="contender"), KEYS, ROWS_MOST)
        return f"{text}\n\nBaseline: {cell(found.base)}. Contender: {cell(found.new)}."
    rows = [
        [
            name,
            result_of(sweep, analysis).verdict,
            "" if analysis.answer.users is None else str(analysis.answer.users),
            units.rate_text(analysis.best_rate_per_s),
            "" if analysis.best_users is None else str(analysis.best_users),
        ]
        for name, sweep, analysis in zip(names, sweeps, analyses, strict=True)
    ]
    heads = ("sweep", "verdict", "users within the goal", "best req/s", "at users")
    return table(heads, rows[:ROWS_MOST], text_columns=2)


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
    return narrow_tables([cell(level_head(levels)), *(cell(sweep.name) for sweep in sweeps)], rows)


def comparison_tables(found: SweepComparison) -> list[str]:
    """Return a table for each value of two sweeps."""
    return [comparison_table(found, (figure.figure,)) for figure in found.figures]


def comparison_table(found: SweepComparison, keys: Collection[str], most: int | None = None) -> str:
    """Return the table of some values of two sweeps: baseline, contender, change in %, and the verdict on the level.

    It has at most `most` levels: those with the greatest changes of the first value.
    """
    figures = [one for one in found.figures if one.figure in keys] or found.figures[:1]
    deltas = figures[0].deltas if figures else ()
    ranked = sorted(range(len(deltas)), key=lambda at: -abs(deltas[at].delta_ratio or 0.0))
    verdicts = {level.key: level.verdict for level in found.verdicts}
    rows = []
    for at in sorted(ranked[:most]):
        row = [cell(deltas[at].key.value)]
        for figure in figures:
            delta, show = figure.deltas[at], PRINTS[figure.figure]
            change = signed_text(delta.delta_ratio, verdicts.get(delta.key, ""), 1)
            row += [show(delta.base), show(delta.new), change]
        rows.append(row + ([verdicts.get(deltas[at].key, "")] if verdicts else []))
    heads = [cell(deltas[0].setting.partition("=")[0] if deltas else "") or "users"]
    for figure in figures:
        heads += [f"{cell(name)} {HEADS[figure.figure]}" for name in (found.base, found.new)] + ["change %"]
    return table([*heads, *(["verdict"] if verdicts else [])], rows)
