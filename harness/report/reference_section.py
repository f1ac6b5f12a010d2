"""Renders the comparisons of a run with its references: the section of its report, and lines for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from harness.base import units
from harness.judge.result import Result
from harness.judge.stored_comparisons import REGRESSED, ComparedLabel, ComparedRun
from harness.metrics.metric import Metric, metric_of
from harness.report.change_text import decimals_of_metric, signed_text
from harness.report.columns import whole_text
from harness.report.results import headline_line
from harness.report.tables import cell, table


class SectionPart(NamedTuple):
    """The part of the section about one reference, as Markdown; empty texts are left out."""

    title: str
    headline: str
    setting_table: str
    total_table: str
    label_tables: tuple[str, ...]
    one_sided: tuple[str, ...]
    warnings: tuple[str, ...]
    command: str


class _Names(NamedTuple):
    """The names of two compared runs."""

    baseline: str
    contender: str


def problem_lines(compared: Sequence[ComparedRun]) -> list[str]:
    """Return a line for each reference with which the run could not be compared."""
    return [
        f"{cell(one.name)} ({cell(one.role)}): not compared: {cell(one.problem)}" for one in compared if one.problem
    ]


def parts(compared: Sequence[ComparedRun], name: str) -> list[SectionPart]:
    """Return the parts of the section; `name` is that of the run."""
    return [_part(one, name) for one in compared if not one.problem]


def _part(compared_run: ComparedRun, name: str) -> SectionPart:
    names = _short_names(compared_run.name, name)
    labels = [[label for label in compared_run.labels if label.is_transaction is of] for of in (False, True)]
    tables = zip(labels, ("label (samples)", "transaction (samples)"), strict=True)
    heads = ("setting", *map(cell, names))
    settings = [[*map(cell, (setting.name, setting.base, setting.new))] for setting in compared_run.settings]
    sided = ((names.baseline, compared_run.only_base), (names.contender, compared_run.only_new))
    link = f"[{cell(names.baseline)}]({quote(compared_run.link)})" if compared_run.link else cell(names.baseline)
    return SectionPart(
        title=f"{link}, {cell(compared_run.role)}",
        headline=headline_line(Result(verdict=compared_run.verdict, headline=compared_run.headline)),
        setting_table=table(heads, settings, text_columns=3) if settings else "",
        total_table=_total_table(compared_run, names) if compared_run.total else "",
        label_tables=tuple(_label_table(compared_run, labels, head, names) for labels, head in tables if labels),
        one_sided=tuple(f"Only {cell(run)} has {', '.join(map(cell, labels))}." for run, labels in sided if labels),
        warnings=tuple(map(cell, compared_run.warnings)),
        command=f"lth compare {compared_run.name} {name}" if compared_run.link else "",
    )


def _short_names(baseline: str, contender: str) -> _Names:
    """Return the names of two runs, without their plan when it is the same."""
    (baseline_plan, _, baseline_run), (contender_plan, _, contender_run) = (
        baseline.rpartition("/"),
        contender.rpartition("/"),
    )
    return _Names(baseline_run, contender_run) if baseline_plan == contender_plan else _Names(baseline, contender)


def _total_table(compared_run: ComparedRun, names: _Names) -> str:
    total = compared_run.total
    assert total is not None
    rows = []
    for index, metric in enumerate(map(metric_of, compared_run.metrics)):
        values, verdict = (total.base[index], total.new[index]), total.verdicts[index]
        if values != (None, None):
            threshold = f"{units.percent_text(compared_run.threshold_ratios[index])} {metric.change_unit}"
            texts = (*map(metric.text, values), _change_text(metric, total, index), threshold)
            rows.append([metric.title, *texts, _emphasised(verdict, verdict)])
    return table(("TOTAL", *map(cell, names), "change", "threshold", "verdict"), rows)


def _label_table(compared_run: ComparedRun, labels: Sequence[ComparedLabel], head: str, names: _Names) -> str:
    """Return a row per label and known metric: both values, the change and the verdict."""
    rows = []
    for label in labels:
        counts = f"{whole_text(label.base_sample_count)} → {whole_text(label.new_sample_count)}"
        for index, metric in enumerate(map(metric_of, compared_run.metrics)):
            values, verdict = (label.base[index], label.new[index]), label.verdicts[index]
            if values != (None, None):
                change = _change_text(metric, label, index)
                texts = (*map(metric.text, values), change, _emphasised(verdict, verdict))
                rows.append([f"{cell(label.label)} ({counts})", metric.title, *texts])
    return table((head, "metric", *map(cell, names), "change", "verdict"), rows, text_columns=2)


def _emphasised(text: str, verdict: str) -> str:
    return f"**{text}**" if verdict == REGRESSED else text


def _change_text(metric: Metric, label: ComparedLabel, index: int) -> str:
    """Return the change of a metric with its unit; empty when unknown, and for CANNOT TELL."""
    decimals = decimals_of_metric(metric, label.base[index], None, None)
    text = signed_text(label.change_ratio[index], label.verdicts[index], decimals)
    return f"{text} {metric.change_unit}" if text else ""
