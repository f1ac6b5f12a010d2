"""Render a comparison as Markdown, as terminal text, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

from harness.base import units
from harness.base.records import to_plain
from harness.compare.causes import Cause
from harness.compare.comparison import (
    CANNOT_TELL,
    IMPROVED,
    OK,
    REGRESSED,
    Comparison,
    LabelComparison,
    MetricComparison,
)
from harness.compare.result import RunResult
from harness.compare.setup_diff import Difference
from harness.metrics.metric import AVERAGE, compared_metrics
from harness.plan.thresholds import Thresholds
from harness.report.charts.chart import Chart
from harness.report.notes import NOTES_BEGIN, NOTES_END
from harness.report.results import KeyFigure, Result
from harness.report.tables import cell, one_line, table
from harness.report.template import filled

FORMAT_VERSION = 1
UNKNOWN = "~"
# Interval ends beyond this are printed as >.
_MOST_RATIO = 10.0
# Limits of the terminal table: number of labels, and minimum width of their names.
_TERMINAL_LABELS = 15
_TERMINAL_NAME_LEAST = 12
_BETTER, _WORSE = "better", "worse"


class Heads(NamedTuple):
    """The titles of the columns of both sides, and of the interval."""

    baseline: str
    contender: str
    interval: str = ""


HEADS = Heads("baseline", "contender", "95 % interval")


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
    """The content of a comparison report; `command` creates it again."""

    command: str
    comparison: Comparison
    baseline: tuple[Side, ...]
    contender: tuple[Side, ...]
    settings: tuple[Difference, ...]
    thresholds: Thresholds
    remarks: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()


def headline(comparison: Comparison) -> str:
    """Return the verdict and its reasons in one line."""
    parts = [reason.rstrip(".") for reason in comparison.reasons]
    if comparison.further_runs:
        parts.append(f"{units.plural(comparison.further_runs, 'more run')} a side would be needed")
    state = f"{OK}, {_BETTER}" if comparison.verdict == OK and parts else comparison.verdict
    average = comparison.total.of(AVERAGE) if comparison.total else None
    change = units.signed_percent(average.delta_ratio) if average else ""
    if comparison.verdict == OK and not parts and change:
        parts = [f"TOTAL: average {change} %"]
    return one_line(f"{state}: {'; '.join(parts)}." if parts else f"{state}.")


def change_figures(metrics: Iterable[MetricComparison]) -> tuple[KeyFigure, ...]:
    """Return the metrics that both sides have, from baseline to contender."""
    return tuple(
        KeyFigure(one.metric.name, _arrow(*map(one.metric.mean_text, (one.baseline, one.contender))), one.metric.unit)
        for one in metrics
        if one.baseline is not None and one.contender is not None
    )


def result_of(comparison: Comparison, first_chart: str = "") -> Result:
    """Return the result of a comparison of runs."""
    title = " → ".join(map(_names, (comparison.baseline, comparison.contender)))
    figures = change_figures(comparison.total.metrics) if comparison.total else ()
    return Result("compare", title, comparison.verdict, headline(comparison), figures, first_chart)


def terminal_text(comparison: Comparison, width: int) -> str:
    """Return the comparison for a terminal of `width` characters: headline, metrics of TOTAL, a row per label.

    The labels with the largest change of the average are shown. Long label names are cut.
    """
    total = comparison.total.metrics if comparison.total else ()
    rows = [_terminal_row(metric.metric.title, metric) for metric in total if metric.is_known]
    averages = [(one.label, average) for one in comparison.labels if (average := one.of(AVERAGE))]
    averages.sort(key=lambda pair: -abs(pair[1].delta_ratio or 0.0))
    rows += [_terminal_row(f"{one_line(label)} average ms", metric) for label, metric in averages[:_TERMINAL_LABELS]]
    lines = [headline(comparison)]
    if rows:
        lines += ["", *_aligned([("TOTAL", HEADS.baseline, HEADS.contender, "delta", "verdict"), *rows], width)]
    if len(averages) > _TERMINAL_LABELS:
        lines.append(f"and {units.plural(len(averages) - _TERMINAL_LABELS, 'more label')}: see the report")
    return "\n".join([*lines, ""])


def _terminal_row(name: str, metric: MetricComparison) -> tuple[str, ...]:
    delta = units.signed_percent(metric.change_ratio)
    if delta:
        delta += f" {metric.metric.change_unit}"
    verdict = CANNOT_TELL if metric.verdict == CANNOT_TELL else _verdict_text(metric).replace("*", "")
    figures = (metric.metric.text(value) for value in (metric.baseline, metric.contender))
    return (name, *figures, delta, verdict)


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


def report(compared: Compared, notes: str, chart: Chart | None = None) -> str:
    """Return the comparison as Markdown; `notes` is the text of its notes block, `chart` is next to it."""
    comparison, result = compared.comparison, result_of(compared.comparison)
    footnotes = Footnotes()
    total = metric_table(comparison.total, footnotes) if comparison.total else ""
    in_full = [label for label in comparison.labels if label.verdict == REGRESSED]
    settings = [[cell(setting.name), cell(setting.baseline), cell(setting.contender)] for setting in compared.settings]
    return filled(
        "harness.compare",
        "comparison.md.j2",
        command=compared.command,
        title=cell(result.title),
        headline=cell(result.headline),
        baseline=[_link(side) for side in compared.baseline],
        contender=[_link(side) for side in compared.contender],
        setting_table=table(("setting", "baseline", "contender"), settings, text_columns=3) if settings else "",
        total_table=total,
        label_table=_label_table([label for label in comparison.labels if not label.is_transaction]),
        transaction_table=_label_table([label for label in comparison.labels if label.is_transaction]),
        regressed=[(cell(label.label), metric_table(label, footnotes)) for label in in_full],
        cause_table=cause_table(compared.causes),
        only_baseline=[cell(label) for label in comparison.only_baseline],
        only_contender=[cell(label) for label in comparison.only_contender],
        remarks=[cell(remark) for remark in compared.remarks],
        warnings=[cell(text) for text in comparison.warnings],
        alpha=units.number_text(compared.thresholds.alpha),
        footnotes=footnotes.lines,
        chart=f"![{cell(chart.alternative)}]({quote(chart.name)})" if chart else "",
        notes_begin=NOTES_BEGIN,
        notes_end=NOTES_END,
        notes=notes,
    )


def to_json(compared: Compared, first_chart: str = "") -> dict[str, Any]:
    """Return the comparison as plain data with unrounded numbers."""
    return {
        "format_version": FORMAT_VERSION,
        "command": compared.command,
        **to_plain(compared.comparison),
        "headline": headline(compared.comparison),
        "result": to_plain(result_of(compared.comparison, first_chart)),
        "settings": to_plain(compared.settings),
        "thresholds": to_plain(compared.thresholds),
        "sources": [
            {"name": side.name, "kind": side.kind, "remarks": list(side.remarks)}
            for side in (*compared.baseline, *compared.contender)
        ],
        "remarks": list(compared.remarks),
        "causes": to_plain(compared.causes),
    }


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


def cause_table(causes: Sequence[Cause], heads: Heads = HEADS) -> str:
    """Return a row for each cause; empty without one."""
    rows = [[cell(cause.kind), cell(cause.process), cell(cause.name), *cost_texts(cause)] for cause in causes]
    columns = ("kind", "process", "what", f"{heads.baseline} per request", f"{heads.contender} per request")
    return table(columns, rows, text_columns=3) if rows else ""


class CostTexts(NamedTuple):
    """What a request costs of something on both sides."""

    baseline: str
    contender: str


def cost_texts(cause: Cause) -> CostTexts:
    """Return the costs of a cause as text."""
    baseline, contender = (f"{value:.3g} {cause.unit}".rstrip() for value in (cause.baseline, cause.contender))
    return CostTexts(("at most " if cause.is_bound and cause.baseline else "") + baseline, contender)


@dataclass
class Footnotes:
    """Reasons of verdicts; equal texts share a number."""

    numbers: dict[str, int] = field(default_factory=dict)

    def mark(self, text: str) -> str:
        """Return the footnote mark for a text; empty for an empty text."""
        return f" [^{self.numbers.setdefault(text, len(self.numbers) + 1)}]" if text else ""

    @property
    def lines(self) -> list[str]:
        """The footnotes as Markdown."""
        return [f"[^{number}]: {cell(text)}" for text, number in self.numbers.items()]


def metric_table(label: LabelComparison, footnotes: Footnotes, heads: Heads = HEADS) -> str:
    """Return a row for each metric that either side has."""
    columns = (
        "metric", heads.baseline, heads.contender, "delta %", heads.interval, "p", "adjusted p", "n", "threshold",
        "verdict",
    )  # fmt: skip
    return table(columns, [_metric_row(metric, footnotes) for metric in label.metrics if metric.is_known])


def _metric_row(metric: MetricComparison, footnotes: Footnotes) -> list[str]:
    return [
        metric.metric.title,
        metric.metric.text(metric.baseline),
        metric.metric.text(metric.contender),
        units.signed_percent(metric.delta_ratio),
        _interval_text(metric),
        _p_text(metric.p_value) if _is_judged(metric) else "",
        _p_text(metric.adjusted_p_value),
        f"{metric.baseline_n} + {metric.contender_n} {metric.unit}" if metric.unit else "",
        f"{units.percent_text(metric.threshold_ratio)} {metric.metric.change_unit}",
        _verdict_text(metric) + footnotes.mark(_reason(metric)),
    ]


def _interval_text(metric: MetricComparison) -> str:
    if not _is_judged(metric) or metric.low_ratio is None or metric.high_ratio is None:
        return ""
    low, high = units.signed_percent(metric.low_ratio), units.signed_percent(metric.high_ratio)
    if metric.metric.is_share:
        return f"{low} to {high} points"
    return f"{low} to {high if metric.high_ratio <= _MOST_RATIO else f'>{_MOST_RATIO * 100:+.0f}'}"


def _is_judged(metric: MetricComparison) -> bool:
    """Return whether the p-value was compared with alpha; with too few samples it is not."""
    return metric.adjusted_p_value is not None


def _p_text(value: float | None) -> str:
    return "" if value is None else "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _verdict_text(metric: MetricComparison) -> str:
    if metric.verdict == CANNOT_TELL:
        return UNKNOWN
    if metric.verdict == REGRESSED:
        return f"**{REGRESSED}**"
    return f"{metric.verdict}, {_BETTER}" if is_better(metric) else metric.verdict


def _reason(metric: MetricComparison) -> str:
    """Return why a metric has no verdict and what it needs; empty for other verdicts."""
    if metric.verdict != CANNOT_TELL:
        return ""
    parts = [metric.reason.rstrip(".") or "the interval contains both relevant and irrelevant changes"]
    if metric.least_ratio is not None and _is_judged(metric):
        change = f"{units.percent_text(metric.least_ratio)} {metric.metric.change_unit}"
        parts.append(f"a change of {change} would be detected in four of five cases")
    if metric.further_runs:
        parts.append(f"{units.plural(metric.further_runs, 'more run')} a side would be needed")
    return "; ".join(parts) + "."


def is_better(metric: MetricComparison) -> bool:
    """Return whether a metric has improved by more than its threshold."""
    return metric.verdict == OK and metric.reason == IMPROVED


def _label_table(labels: Sequence[LabelComparison]) -> str:
    """Return a row per label: samples, then each metric from baseline to contender with its change; else empty."""
    if not labels:
        return ""
    known = {found.metric for label in labels for found in label.metrics if found.baseline is not None}
    shown = [metric for metric in compared_metrics() if metric in known]
    rows = []
    for label in labels:
        counts = (
            "" if count is None else str(count) for count in (label.baseline_sample_count, label.contender_sample_count)
        )
        rows.append([cell(label.label), _arrow(*counts), *(_change_cell(label.of(metric)) for metric in shown)])
    return table(("label", "samples", *(metric.title for metric in shown)), rows)


def _arrow(baseline: str, contender: str) -> str:
    return f"{baseline} → {contender}" if baseline or contender else ""


def _change_cell(metric: MetricComparison | None) -> str:
    if metric is None or not metric.is_known:
        return ""
    figures = _arrow(metric.metric.text(metric.baseline), metric.metric.text(metric.contender))
    word = _BETTER if is_better(metric) else {REGRESSED: _WORSE, CANNOT_TELL: UNKNOWN}.get(metric.verdict)
    change = " ".join(part for part in (units.signed_percent(metric.delta_ratio), word) if part)
    if metric.verdict == REGRESSED:
        change = f"**{change}**"
    return f"{figures} ({change})" if change else figures
