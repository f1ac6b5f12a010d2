"""Renders the report of a designed experiment as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from harness.base import units
from harness.compare.comparison import BETTER, REGRESSED
from harness.compare.comparison_warnings import warnings_of
from harness.compare.render import WEAKENED_BY_MOST, run_link
from harness.experiment.record import WARM_UP
from harness.judge.result import FOUND
from harness.kinds.tune.effects import Effect
from harness.kinds.tune.factors import assignments, combination_count
from harness.kinds.tune.outcome import TuneOutcome
from harness.kinds.tune.record import TuneRecord
from harness.kinds.tune.text import effect_name, result_of, sure_text
from harness.metrics.metric import ERRORS, Metric, Table, is_better, metrics_of
from harness.report.change_text import decimals_of, interval_text, signed_text
from harness.report.charts.chart import Chart
from harness.report.first_screen import first_screen
from harness.report.markdown import image
from harness.report.setup import load_text
from harness.report.tables import cell, in_comment, table
from harness.report.template import filled

_RUN_HEADS = ("run", "values", "counts", "block")
_PAIR_HEADS = ("values", "verdict", "more %", "interval %")
_KEY_ROWS_MOST = 12


def tune_report(outcome: TuneOutcome, charts: Sequence[Chart], notes: str) -> str:
    """Return the report as Markdown; `notes` is the text of its notes block."""
    record = outcome.record
    images = [image(chart, record.name) for chart in charts]
    pair_rows = [_effect_cells(outcome, effect) for effect in outcome.effects if effect.is_pair]
    effect_heads, effect_rows = _effect_heads(record), _effect_rows(outcome)
    reason = outcome.reason.rstrip(".")
    early = [f"The experiment ended early: {reason}."] if reason not in result_of(outcome).headline else []
    of_runs = warnings_of([one.result for one in outcome.runs if one.result])
    work = [f"TOTAL is of other work than the baseline's: {outcome.work}."] if outcome.work else []
    warnings = [cell(text) for text in (*early, *work, *of_runs)]
    return filled(
        "harness.kinds.tune",
        "tune.md.j2",
        id=record.id,
        command=in_comment(record.command),
        title=cell(result_of(outcome).title),
        first_screen=first_screen(
            result_of(outcome),
            chart="".join(images[:1]),
            table=table(effect_heads, effect_rows[:_KEY_ROWS_MOST], 2) if effect_rows else "",
            weakened_by=warnings[:WEAKENED_BY_MOST],
        ),
        settings=[f"{cell(factor.name)}: {cell(', '.join(factor.values))}" for factor in record.factors],
        metric=cell(record.metric.phrase),
        threshold=units.percent_text(record.threshold_ratio, 1),
        load=cell(load_text(record.load)),
        design=_design_text(record),
        effect_table=table(effect_heads, effect_rows, 2) if len(effect_rows) > _KEY_ROWS_MOST else "",
        has_effects=bool(effect_rows),
        level=units.percent_text(1 - record.thresholds.alpha, 0),
        scatter=units.percent_text(outcome.scatter_ratio, 1),
        pair_table=table(_PAIR_HEADS, pair_rows, 2) if pair_rows else "",
        pair_images=images[1:],
        cell_table=_cell_table(outcome) if outcome.counted else "",
        sure=_sure_text(outcome),
        run_table=_run_table(outcome) if outcome.runs else "",
        warm_up=", ".join(run_link(one.result) for one in outcome.runs if one.run.block == WARM_UP),
        warnings=warnings[WEAKENED_BY_MOST:],
        notes=notes,
    )


def _design_text(record: TuneRecord) -> str:
    count, all_count = len(record.cells), combination_count(record.factors)
    what = f"all {count} combinations" if count == all_count else f"{count} of {all_count:,} combinations"
    blocks = units.plural(len(record.blocks), "block")
    return f"{what}, {record.run_count} runs in random order in {blocks}, each with one more run of the baseline"


def _others(record: TuneRecord) -> tuple[Metric, ...]:
    """Return the metrics whose changes are shown beside the judged one."""
    return tuple(metric for metric in metrics_of(Table.BRIEF) if metric != record.metric and not metric.is_share)


def _effect_heads(record: TuneRecord) -> tuple[str, ...]:
    return "setting", "verdict", "effect %", "interval %", *(f"{metric.name} %" for metric in _others(record))


def _effect_rows(outcome: TuneOutcome) -> list[list[str]]:
    changes = [outcome.effects_on(metric) for metric in _others(outcome.record)]
    rows = []
    for index, effect in enumerate(outcome.effects):
        if not effect.is_pair:
            more = (_change_text(found[index]) if found else "" for found in changes)
            rows.append([*_effect_cells(outcome, effect), *more])
    return rows


def _effect_cells(outcome: TuneOutcome, effect: Effect) -> list[str]:
    name = cell(effect_name(outcome.record.factors, effect))
    return [name, _answer(outcome.record.metric, effect), _change_text(effect), _interval_text(effect)]


def _change_text(effect: Effect) -> str:
    """Return the change of an effect in %; CANNOT TELL has no sign."""
    return signed_text(effect.delta_ratio, effect.verdict, decimals_of(effect.low_ratio, effect.high_ratio))


def _interval_text(effect: Effect) -> str:
    ends = effect.low_ratio, effect.high_ratio
    return interval_text(*ends, effect.verdict, decimals_of(*ends))


def _answer(metric: Metric, effect: Effect) -> str:
    if effect.verdict != FOUND:
        return effect.verdict
    if effect.is_pair:
        return "**interaction**"
    answer = f"**{BETTER if is_better(metric, effect.delta_ratio) else REGRESSED}**"
    return f"{answer}, but too little to matter" if effect.is_small else answer


def _cell_table(outcome: TuneOutcome) -> str:
    """Return a row per combination, the baseline first, then from the best to the worst mean."""
    record = outcome.record
    columns = (record.metric, *_others(record), ERRORS)
    sign = -1 if record.metric.more_is_better else 1
    means = [outcome.mean_of(record.metric, index) for index in range(len(record.cells))]
    known = sorted((sign * mean, index) for index, mean in enumerate(means) if mean is not None and index)
    rows = []
    for index in (0, *(index for _, index in known)):
        count = sum(one.run.cell == index for one in outcome.counted)
        values = [metric.mean_text(outcome.mean_of(metric, index)) for metric in columns]
        rows.append([cell(" ".join(assignments(record.factors, record.cells[index]))), str(count), *values])
    return table(("values", "runs", *(metric.title for metric in columns)), rows)


def _sure_text(outcome: TuneOutcome) -> str:
    best, record = outcome.best, outcome.record
    if best is None:
        return ""
    values = cell(" ".join(assignments(record.factors, best.choice)))
    text = f"Best: {values}. Given these runs, no other values of these settings are better: {sure_text(best)} sure."
    if best.equals:
        equals = "; ".join(cell(" ".join(assignments(record.factors, choice))) for choice in best.equals)
        text += f" Not distinguishable from it: {equals}."
    idle = [cell(factor.name) for factor, level in zip(record.factors, best.choice, strict=True) if level is None]
    if not idle:
        return text
    mains = [one for one in outcome.effects if not one.is_pair]
    bounds = [one.bound_ratio for one in mains if best.choice[one.factor_indexes[0]] is None]
    within = units.percent_text(max(bounds), 1)
    return f"{text} It leaves out {', '.join(idle)}: no effect was found (within {within} %)."


def _run_table(outcome: TuneOutcome) -> str:
    record = outcome.record
    columns = (record.metric, *_others(record), ERRORS)
    rows = []
    for counted in outcome.runs:
        if counted.run.block == WARM_UP:
            continue
        total = counted.result.total if counted.result else None
        values = [metric.text(metric.of(total)) if total else "" for metric in columns]
        tried = cell(" ".join(assignments(record.factors, record.cells[counted.run.cell])))
        counts = f"no: {cell(counted.problem)}" if counted.problem else "yes"
        rows.append([run_link(counted.result), tried, counts, str(counted.run.block), *values])
    return table((*_RUN_HEADS, *(metric.title for metric in columns)), rows, 3)
