"""Renders the report of a trust test as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from harness.base import units
from harness.compare.comparison_warnings import warnings_of
from harness.compare.render import WEAKENED_BY_MOST, run_link
from harness.kinds.trust.design import RUNS_PER_START
from harness.kinds.trust.outcome import PAIRS, MetricTrust, TrustOutcome
from harness.kinds.trust.power import change_text
from harness.kinds.trust.variance import VariancePart
from harness.metrics.shift import as_ratio
from harness.report.first_screen import first_screen
from harness.report.tables import cell, in_comment, table
from harness.report.template import filled

_UNKNOWN = "unknown"
_RUN_HEADS = ("run", "start", "run of the start", "counts")
_PART_HEADS = ("metric", "within a run %", "between runs %", "between starts %", "between days %", "second run %")


def trust_report(outcome: TrustOutcome, notes: str) -> str:
    """Return the report as Markdown; `notes` is the text of its notes block."""
    record = outcome.record
    found = (*_early(outcome), *_outliers(outcome), *outcome.problems, *warnings_of(outcome.results))
    warnings = [cell(text) for text in found]
    change = change_text(record.detect_ratio)
    heads = ("metric", "mean", "run scatter %", "8 pairs see %", f"cheapest test for {change}", "may gate")
    return filled(
        "harness.kinds.trust",
        "trust.md.j2",
        id=record.id,
        command=in_comment(record.command),
        title=cell(outcome.result.title),
        first_screen=first_screen(
            outcome.result,
            table=table(heads, [_key_row(one) for one in outcome.metrics]) if outcome.metrics else "",
            weakened_by=warnings[:WEAKENED_BY_MOST],
        ),
        change=change,
        part_table=table(_PART_HEADS, [_part_row(one) for one in outcome.metrics]) if outcome.metrics else "",
        pair_table=table(
            ("metric", *(units.plural(pairs, "pair") for pairs in PAIRS)), [_pair_row(one) for one in outcome.metrics]
        )
        if outcome.metrics
        else "",
        way_rows=[f"{one.name}: {'; '.join(way.text for way in one.ways)}" for one in outcome.metrics if one.ways],
        alarms=[
            f"{one.name}: {units.percent_text(one.alarm_ratio, 1)} %"
            for one in outcome.metrics
            if one.alarm_ratio is not None
        ],
        run_table=_run_table(outcome),
        starts=units.plural(record.starts, "start"),
        runs=RUNS_PER_START,
        warnings=warnings[WEAKENED_BY_MOST:],
        notes=notes,
    )


def _early(outcome: TrustOutcome) -> Sequence[str]:
    reason = outcome.record.stop_reason.rstrip(".")
    return [f"The test ended early: {reason}."] if reason else []


def _outliers(outcome: TrustOutcome) -> Sequence[str]:
    """Return a warning when a start or a run does not belong to the others."""
    texts: dict[str, list[str]] = {}
    for one in outcome.metrics:
        if one.outlier:
            texts.setdefault(one.outlier.partition(" differs")[0], []).append(f"{one.name}: {one.outlier}")
    return [f"Slow starts or heavy tails: {found[0]}." for found in texts.values()][:1]


def _key_row(one: MetricTrust) -> list[str]:
    total = one.parts.total if one.parts else None
    seen = one.seen_at(8)
    least = _range(seen.ratio, seen.low_ratio, seen.high_ratio)
    way = one.ways[0].text if one.ways else "none"
    gate = f"no: {cell(one.gate_problem)}" if one.gate_problem else "yes"
    return [one.name, f"{one.metric.mean_text(one.mean)} {one.metric.unit}", _part(total), least, way, gate]


def _part_row(one: MetricTrust) -> list[str]:
    if one.parts is None:
        return [one.name, *[_UNKNOWN] * (len(_PART_HEADS) - 1)]
    parts = one.parts
    shown = (parts.within, parts.run, parts.start, one.day)
    later = [units.signed_percent(as_ratio(end), 1) for end in parts.later]
    return [one.name, *map(_part, shown), f"{later[0]} ({later[1]} to {later[2]})"]


def _pair_row(one: MetricTrust) -> list[str]:
    return [one.name, *(_range(seen.ratio, seen.low_ratio, seen.high_ratio) for seen in map(one.seen_at, PAIRS))]


def _part(part: VariancePart | None) -> str:
    return _UNKNOWN if part is None else _range(part.ratio, part.low_ratio, part.high_ratio)


def _range(ratio: float | None, low: float | None, high: float | None) -> str:
    if ratio is None:
        return "none"
    middle, *ends = (">100" if one and one > 1 else units.percent_text(one, 1) for one in (ratio, low, high))
    return f"{middle} ({' to '.join(ends)})"


def _run_table(outcome: TrustOutcome) -> str:
    counted = {result.name for runs in outcome.starts for result in runs}
    rows = []
    for run in outcome.record.measured:
        result = outcome.by_name.get(run.name)
        counts = "yes" if result and result.name in counted else "no"
        rows.append([run_link(result), str(run.start), str(run.index + 1), counts])
    return table(_RUN_HEADS, rows) if rows else ""
