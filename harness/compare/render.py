"""Render a comparison as Markdown, as terminal text, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import quote

from harness.base import units
from harness.base.plain_text import one_line, short_line
from harness.base.records import to_plain
from harness.compare.answer import AnswerRow, by_weight, headline, is_of_runs, rows_of
from harness.compare.causes import GrownCost
from harness.compare.change_text import change_of, interval_of, with_unit
from harness.compare.comparison import BETTER, CANNOT_TELL, REGRESSED, Comparison, MetricComparison
from harness.compare.setup_diff import Difference
from harness.judge.account import AccountLine
from harness.judge.result import KeyFigure, NextStep, Result
from harness.metrics.figures import TOTAL
from harness.metrics.metric import AVERAGE, ERRORS, P95, THROUGHPUT
from harness.plan.thresholds import Thresholds
from harness.report.account_table import accounts_line, accounts_table
from harness.report.charts.chart import Chart
from harness.report.first_screen import first_screen
from harness.report.run_result import RunResult
from harness.report.tables import cell, table
from harness.report.tail_text import without_packages
from harness.report.template import filled

FORMAT_VERSION = 1
# Limits of the terminal table: rows below its head, and minimum width of the names of labels.
_TERMINAL_ROWS = 7
_TERMINAL_METRICS = (AVERAGE, P95, THROUGHPUT, ERRORS)
_TERMINAL_NAME_LEAST = 12
_KEY_ROWS_MOST = 12
# Metrics of labels with these verdicts are on the first screen, after those of TOTAL.
_KEY_WORDS = (REGRESSED, CANNOT_TELL, BETTER)
# So many warnings are on the first screen.
WEAKENED_BY_MOST = 4
# So much of the name of what grew is on it.
_NAME_CHARACTERS = 100
# Costs from here on have no decimals, and no powers of ten.
_WHOLE_FROM = 100


class Heads(NamedTuple):
    """The titles of the columns of both sides."""

    baseline: str
    contender: str


HEADS = Heads("baseline", "contender")


@dataclass(frozen=True)
class Side:
    """A run of one side: its name, the kind of its source, corrections made on reading, and its report.

    `link` is relative to the comparison; empty when there is no report, or the comparison is not written to a file.
    """

    name: str
    kind: str
    remarks: tuple[str, ...] = ()
    link: str = ""


@dataclass(frozen=True)
class Compared:
    """The content of a comparison report; `command` creates it again, `next_steps` are what to do then."""

    command: str
    comparison: Comparison
    baseline: tuple[Side, ...]
    contender: tuple[Side, ...]
    settings: tuple[Difference, ...]
    thresholds: Thresholds
    remarks: tuple[str, ...] = ()
    causes: tuple[GrownCost, ...] = ()
    next_steps: tuple[NextStep, ...] = ()


def change_figures(metrics: Iterable[MetricComparison]) -> tuple[KeyFigure, ...]:
    """Return the metrics that both sides have, from baseline to contender."""
    return tuple(
        KeyFigure(one.metric.name, _arrow(*map(one.metric.mean_text, (one.baseline, one.contender))), one.metric.unit)
        for one in metrics
        if one.baseline is not None and one.contender is not None
    )


def result_of(comparison: Comparison, first_chart: str = "", next_steps: tuple[NextStep, ...] = ()) -> Result:
    """Return the result of a comparison of runs."""
    title = " → ".join(map(_names, (comparison.baseline, comparison.contender)))
    figures = change_figures(comparison.total.metrics) if comparison.total else ()
    text = headline(comparison)
    return Result("compare", title, comparison.verdict, text, figures, first_chart, next_steps=next_steps)


def terminal_text(comparison: Comparison, width: int, next_steps: Sequence[NextStep] = ()) -> str:
    """Return the comparison for a terminal of `width` characters: headline, at most eight lines, what to do next.

    The lines are the main metrics of TOTAL and the averages of the labels that changed most. Long names are cut.
    """
    total = [comparison.total.of(metric) for metric in _TERMINAL_METRICS] if comparison.total else []
    rows = [_terminal_row(one.metric.title, one) for one in total if one and one.is_known]
    averages = by_weight(
        AnswerRow(one.label, average) for one in comparison.labels if (average := one.of(AVERAGE)) and average.is_known
    )
    room = _TERMINAL_ROWS - len(rows)
    shown = averages if len(averages) <= room else averages[: room - 1]
    rows += [_terminal_row(f"{one_line(row.label)} average ms", row.metric) for row in shown]
    lines = [headline(comparison)]
    if rows:
        lines += ["", *_aligned([("TOTAL", HEADS.baseline, HEADS.contender, "delta", "verdict"), *rows], width)]
    if len(averages) > len(shown):
        lines.append(f"and {units.plural(len(averages) - len(shown), 'more label')}: see the page")
    if account := _account_line(comparison):
        lines += ["", account]
    lines += [f"next: {one_line(f'{step.text}: {step.command}'.removesuffix(': '))}" for step in next_steps]
    return "\n".join([*lines, ""])


def _terminal_row(name: str, metric: MetricComparison) -> tuple[str, ...]:
    delta = with_unit(change_of(metric), metric)
    figures = (metric.metric.text(value) for value in (metric.baseline, metric.contender))
    return (name, *figures, delta, metric.word)


def _aligned(rows: Sequence[tuple[str, ...]], width: int) -> list[str]:
    """Return rows as lines; the first column is cut to the remaining width, numbers are right-aligned."""
    widths = [max(len(row[index]) for row in rows) for index in range(5)]
    room = max(width - sum(widths[1:]) - 2 * 4, _TERMINAL_NAME_LEAST)
    widths[0] = min(widths[0], room)
    return [
        "  ".join(
            [
                (name if len(name) <= room else f"{name[: room - 1]}…").ljust(widths[0]),
                *(figure.rjust(size) for figure, size in zip(figures, widths[1:4], strict=True)),
                verdict,
            ]
        ).rstrip()
        for name, *figures, verdict in rows
    ]


def report(compared: Compared, notes: str, charts: Sequence[Chart] = ()) -> str:
    """Return the comparison as Markdown; `notes` is the text of its notes block.

    `charts` are next to it: the intervals, then the distributions.
    """
    comparison = compared.comparison
    total = [comparison.total] if comparison.total else []
    shown = by_weight(rows_of([*total, *comparison.labels]))
    key_rows = [*rows_of(total), *(row for row in shown if row.label != TOTAL and row.metric.word in _KEY_WORDS)]
    detailed = rows_of([*total, *(label for label in comparison.labels if label.verdict == REGRESSED)])
    settings = [[cell(setting.name), cell(setting.baseline), cell(setting.contender)] for setting in compared.settings]
    reasons = comparison.reasons if is_of_runs(comparison) else ()
    warnings = [cell(text) for text in (*reasons, *comparison.warnings, *compared.remarks)]
    images = [f"![{cell(chart.alternative)}]({quote(chart.name)})" for chart in charts]
    return filled(
        "harness.compare",
        "comparison.md.j2",
        account_table=_account_table(comparison),
        command=compared.command,
        title=cell(result_of(comparison).title),
        first_screen=first_screen(
            result_of(comparison, next_steps=compared.next_steps),
            chart=images[0] if images else "",
            table=change_table(key_rows[:_KEY_ROWS_MOST]),
            weakened_by=warnings[:WEAKENED_BY_MOST],
        ),
        baseline=[_link(side) for side in compared.baseline],
        contender=[_link(side) for side in compared.contender],
        setting_table=table(("setting", "baseline", "contender"), settings, text_columns=3) if settings else "",
        label_table=change_table(rows_of(one for one in comparison.labels if not one.is_transaction)),
        transaction_table=change_table(rows_of(one for one in comparison.labels if one.is_transaction)),
        statistics_table=statistics_table(detailed),
        cause_table=cause_table(compared.causes),
        only_baseline=[cell(label) for label in comparison.only_baseline],
        only_contender=[cell(label) for label in comparison.only_contender],
        warnings=warnings[WEAKENED_BY_MOST:],
        alpha=units.number_text(compared.thresholds.alpha),
        images=images[1:],
        notes=notes,
    )


def to_json(compared: Compared, first_chart: str = "") -> dict[str, Any]:
    """Return the comparison as plain data with unrounded numbers."""
    return {
        "format_version": FORMAT_VERSION,
        "command": compared.command,
        **to_plain(compared.comparison),
        "headline": headline(compared.comparison),
        "result": to_plain(result_of(compared.comparison, first_chart, compared.next_steps)),
        "settings": to_plain(compared.settings),
        "thresholds": to_plain(compared.thresholds),
        "sources": [
            {"name": side.name, "kind": side.kind, "remarks": list(side.remarks)}
            for side in (*compared.baseline, *compared.contender)
        ],
        "remarks": list(compared.remarks),
        "causes": to_plain(compared.causes),
    }


def _accounts(comparison: Comparison) -> dict[str, Sequence[AccountLine]]:
    """Return the accounts of the runs, and that of both sides together."""
    both = {"both sides": (comparison.same_work,)} if comparison.same_work else {}
    return {**comparison.accounts, **both}


def _account_table(comparison: Comparison) -> str:
    return accounts_table(_accounts(comparison), "run")


def _account_line(comparison: Comparison) -> str:
    return accounts_line(_accounts(comparison))


def _names(names: Sequence[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _link(side: Side) -> str:
    return f"[{cell(side.name)}]({quote(side.link)})" if side.link else cell(side.name)


def run_link(run: RunResult | None) -> str:
    """Return a link to a run's report, which is in the same folder, with its verdict unless it is VALID."""
    if run is None:
        return ""
    name = run.name.rpartition("/")[2]
    state = "" if run.is_valid or not run.verdict else f" {run.verdict.state}"
    return f"[{cell(name)}]({quote(name)}.md){state}"


def cause_table(causes: Sequence[GrownCost], heads: Heads = HEADS) -> str:
    """Return a row for each cause; empty without one."""
    rows = [[cell(cause.kind), cell(cause.process), cell(cause.name), *cost_texts(cause)] for cause in causes]
    columns = ("kind", "process", "what", f"{heads.baseline} per request", f"{heads.contender} per request", "growth")
    return table(columns, rows, text_columns=3) if rows else ""


class CostTexts(NamedTuple):
    """What a request costs of something on both sides, and how much more, with its 95 % interval."""

    baseline: str
    contender: str
    growth: str


def cost_texts(cause: GrownCost) -> CostTexts:
    """Return the costs of a cause as text."""
    values = (cause.baseline, cause.contender, cause.growth)
    baseline, contender, growth = (f"{_cost_text(value)} {cause.unit}".rstrip() for value in values)
    is_least = cause.is_bound and cause.baseline
    ends = "" if cause.low is None or cause.high is None else f" ({_cost_text(cause.low)} to {_cost_text(cause.high)})"
    return CostTexts(
        f"{'at most ' if is_least else ''}{baseline}", contender, f"{'at least ' if is_least else ''}+{growth}{ends}"
    )


def _cost_text(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.3g}"


def grown_step(causes: Sequence[GrownCost], since: str = "") -> NextStep:
    """Return the step that names what grew most inside the system, and says that the rest is below."""
    first = causes[0]
    name = first.name if first.kind == "statement" else without_packages(first.name)
    first = replace(first, name=short_line(name, _NAME_CHARACTERS))
    grown = f"{first.what} {cost_texts(first).growth}"
    return NextStep(f"See below what grew inside the system{since}, first of all {grown}")


def change_table(rows: Sequence[AnswerRow], heads: Heads = HEADS) -> str:
    """Return a row for each metric of each label: both sides, the change, its interval, the verdict; else empty."""
    columns = ("label", "metric", *heads, "change", "interval", "verdict")
    return table(columns, map(_change_row, rows), text_columns=2) if rows else ""


def _change_row(row: AnswerRow) -> list[str]:
    metric = row.metric
    return [
        cell(row.label),
        metric.metric.title,
        metric.metric.text(metric.baseline),
        metric.metric.text(metric.contender),
        with_unit(change_of(metric), metric),
        _interval_text(metric),
        f"**{metric.word}**" if metric.word == REGRESSED else metric.word,
    ]


def statistics_table(rows: Sequence[AnswerRow]) -> str:
    """Return for each metric the threshold, the tests, the observations, and why there is no verdict; else empty."""
    columns = ("label", "metric", "why", "threshold", "p", "adjusted p", "n")
    return table(columns, map(_statistics_row, rows), text_columns=3) if rows else ""


def _statistics_row(row: AnswerRow) -> list[str]:
    metric = row.metric
    return [
        cell(row.label),
        metric.metric.title,
        cell(_reason(metric)),
        with_unit(units.percent_text(metric.threshold_ratio), metric),
        _p_text(metric.p_value) if _is_judged(metric) else "",
        _p_text(metric.adjusted_p_value),
        f"{metric.baseline_n} + {metric.contender_n} {metric.unit}" if metric.unit else "",
    ]


def _interval_text(metric: MetricComparison) -> str:
    if not _is_judged(metric):
        return ""
    return with_unit(interval_of(metric), metric)


def _is_judged(metric: MetricComparison) -> bool:
    """Return whether the p-value was compared with alpha; with too few samples it is not."""
    return metric.adjusted_p_value is not None


def _p_text(value: float | None) -> str:
    return "" if value is None else "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _reason(metric: MetricComparison) -> str:
    """Return why a metric has no verdict and what it needs; empty for other verdicts."""
    if metric.verdict != CANNOT_TELL:
        return ""
    parts = [metric.reason.rstrip(".") or "the interval contains both relevant and irrelevant changes"]
    if metric.least_ratio is not None and _is_judged(metric):
        change = with_unit(units.percent_text(metric.least_ratio), metric)
        parts.append(f"a change of {change} would be detected in four of five cases")
    if metric.further_runs:
        parts.append(f"{units.plural(metric.further_runs, 'more run')} a side would be needed")
    return "; ".join(parts) + "."


def is_better(metric: MetricComparison) -> bool:
    """Return whether a metric has improved by more than its threshold."""
    return metric.word == BETTER


def _arrow(baseline: str, contender: str) -> str:
    return f"{baseline} → {contender}" if baseline or contender else ""
