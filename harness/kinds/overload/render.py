"""Writes the report of an overload test with its chart, and renders its result for the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote

from harness.base import units
from harness.base.command import changed_command
from harness.compare.comparison import CANNOT_TELL, INVALID
from harness.experiment.files import ExperimentFiles
from harness.experiment.record import FINISHED
from harness.judge.result import KeyFigure, NextStep, Result
from harness.judge.verdict import INTERRUPTED, VALID
from harness.kinds.overload.attempts import FAST_MOST_MS, TOLERANCE_RATIO, WINDOW_S
from harness.kinds.overload.levels import MOST_RATIO, OFFERED_RATIOS, RECOVERY_LEVELS, REST_RATIO
from harness.kinds.overload.record import OverloadRecord, VariantRun, common_assignments
from harness.kinds.overload.result import LevelResult, VariantResult
from harness.kinds.overload.verdict import (
    COLLAPSE,
    KEPT_LEAST_RATIO,
    OVERLOAD_LEAST_RATIO,
    OverloadVerdict,
    judge,
    percent,
)
from harness.report.charts.chart import Chart, write_charts
from harness.report.charts.svg import Range
from harness.report.first_screen import first_screen, printed_screen, shortest
from harness.report.pages import write_page
from harness.report.results import store_result, worst
from harness.report.tables import cell, in_comment, table
from harness.report.template import filled
from harness.report.wide_tables import narrow_tables
from harness.sweep.charts import Line, Marks, chart
from harness.sweep.level_axis import LevelAxis

_VARIANT_HEADS = (
    "variant", "verdict", "kept %", "95 % interval", "peak goodput/s", "at load %", "recovered after s", "run",
)  # fmt: skip
_LEVEL_HEADS = (
    "load %", "offered/s", "started/s", "goodput/s", "95 % interval", "good", "late", "rejected fast",
    "rejected slowly", "timed out", "p90 ms", "users scheduled", "users started", "users missing",
)  # fmt: skip
CHART_NAME = "goodput.svg"
FILE_NAME = re.compile(re.escape(CHART_NAME))


def overload_report(record: OverloadRecord, notes: str) -> str:
    """Return the report as Markdown; `notes` is the text of its notes block."""
    names, result = record.variant_names, result_of(record)
    measured = [(cell(names[run.variant]), run.result) for run in record.measured if run.result]
    return filled(
        "harness.kinds.overload",
        "overload.md.j2",
        id=record.id,
        command=in_comment(record.command),
        title=cell(result.title),
        first_screen=first_screen(
            result,
            chart=f"![Goodput over the offered load]({quote(record.name)}/{CHART_NAME})" if measured else "",
            table=variant_table(record),
            weakened_by=[cell(text) for text in _doubts(record)],
        ),
        levels=[
            (name, cell(_run_text(result)), narrow_tables(_LEVEL_HEADS, list(map(_level_row, result.levels))))
            for name, result in measured
        ],
        setup=[(name, cell(value)) for name, value in _setup(record)],
        most=percent(MOST_RATIO),
        kept_least=percent(KEPT_LEAST_RATIO),
        overload_least=units.number_text(OVERLOAD_LEAST_RATIO),
        window_s=WINDOW_S,
        tolerance=percent(TOLERANCE_RATIO),
        limit_ms=units.number_text(record.limit_ms),
        fast_ms=units.number_text(min(record.limit_ms, FAST_MOST_MS)),
        notes=notes,
    )


def printed_overload(record: OverloadRecord) -> str:
    """Return the first screen for a terminal, where `log_end` prints how to resume the test."""
    result, is_open = result_of(record), record.state != FINISHED or record.stop_reason
    return printed_screen(
        replace(result, next_steps=()) if is_open else result, table=variant_table(record), weakened_by=_doubts(record)
    )


def result_of(record: OverloadRecord) -> Result:
    """Return what the report found, for those who show it: the worst of the verdicts on all variants."""
    figures, is_one = [], len(record.variants) == 1
    judged = _judged(record)
    for name, verdict in judged:
        of_variant = "" if is_one else f" of {name}"
        if verdict.kept and verdict.peak:
            peak = units.rate_text(verdict.peak.goodput.value)
            figures.append(KeyFigure(f"kept goodput{of_variant}", percent(verdict.kept.ratio), "%"))
            figures.append(KeyFigure(f"peak goodput{of_variant}", peak, "/s"))
    return Result(
        kind="overload",
        title=f"{record.plan_title}: overload ({record.name})",
        verdict=INTERRUPTED if record.state != FINISHED else worst(verdict.state for _, verdict in judged),
        headline=shortest(*(f"{text}." for text in _answers(record, judged))),
        key_figures=tuple(figures),
        first_chart=f"{record.name}/{CHART_NAME}" if any(run.result for run in record.measured) else "",
        goals=f"Goal: an answer within {units.number_text(record.limit_ms)} ms.",
        next_steps=tuple(_next_steps(record, judged)),
    )


def _judged(record: OverloadRecord) -> list[tuple[str, OverloadVerdict]]:
    """Return the name of each measured variant with its verdict."""
    names = record.variant_names
    return [
        (
            names[run.variant],
            judge(run.result.levels, record.limit_ms) if run.result else OverloadVerdict(INVALID, run.problem),
        )
        for run in record.measured
    ]


def _answers(record: OverloadRecord, judged: Sequence[tuple[str, OverloadVerdict]]) -> Iterator[str]:
    """Yield the answer, from the fullest to the shortest text: the worst variant, and how many are not."""
    state = worst(verdict.state for _, verdict in judged)
    bad = [(name, verdict.reason) for name, verdict in judged if verdict.state == state]
    if record.state != FINISHED:
        so_far = f"{len(judged)} of {units.plural(len(record.variants), 'variant')} measured"
        if bad:
            yield f"{INTERRUPTED}: {so_far}; so far {state} with {bad[0][0]}"
        yield f"{INTERRUPTED}: {so_far}"
    elif len(record.variants) == 1:
        yield from (f"{state}: {reason}" for _, reason in bad)
        yield state
    else:
        count = f"{len(bad)} of {len(judged)} variants"
        yield from (f"{state} with {name}: {reason}; {count}" for name, reason in bad[:1])
        yield f"{state}: {count}"


def _next_steps(record: OverloadRecord, judged: Sequence[tuple[str, OverloadVerdict]]) -> Iterator[NextStep]:
    if record.state != FINISHED or record.stop_reason:
        larger = "" if record.state != FINISHED else " with a larger --max"
        yield NextStep(f"Resume the test{larger}", record.resume_command)
        return
    level_s = max((verdict.next_level_s for _, verdict in judged), default=0)
    ratios = [verdict.next_rate_ratio for _, verdict in judged if verdict.next_rate_ratio]
    if level_s:
        yield NextStep("Measure longer levels", changed_command(record.command, duration=f"{level_s}s"))
    if any(verdict.state == COLLAPSE for _, verdict in judged):
        yield NextStep("Bound the system's queue, or lower its time-outs, and measure that as another variant (--set).")
    if ratios and record.capacity_per_s:
        rate, what = f"{record.capacity_per_s * ratios[0]:.4g}", "lower" if ratios[0] < 1 else "higher"
        yield NextStep(f"Offer a {what} rate", changed_command(record.command, rate=rate))


def _doubts(record: OverloadRecord) -> list[str]:
    """Return what weakens the answer: why variants are undecided, their runs' verdicts, and unknown recoveries."""
    texts = []
    for run, (name, verdict) in zip(record.measured, _judged(record), strict=True):
        if verdict.state in (CANNOT_TELL, INVALID):
            texts.append(f"{name}: {verdict.state}, {verdict.detail or verdict.reason}.")
        if run.result and run.result.run_state != VALID:
            texts.append(f"{name}: the run is {run.result.run_state}: {'; '.join(run.result.run_reasons)}.")
        if run.result and run.result.recovery.reason:
            texts.append(f"{name}: recovery unknown: {run.result.recovery.reason}.")
    return texts


def variant_table(record: OverloadRecord) -> str:
    """Return a row for each variant: verdict, kept share of the goodput, peak, recovery, and its run; else empty."""
    if not record.measured:
        return ""
    names = record.variant_names
    rows = [_variant_row(cell(names[run.variant]), run, record.limit_ms) for run in record.measured]
    return table(_VARIANT_HEADS, rows, text_columns=2)


def result_line(run: VariantRun, limit_ms: float) -> str:
    """Return the result of a variant on one line; `limit_ms` is the longest response time within the goal."""
    if run.result is None:
        return f"{run.run or 'no run'}: INVALID: {run.problem}"
    verdict = judge(run.result.levels, limit_ms)
    return f"{run.run}: {verdict.state}: {verdict.reason}; {_recovery_text(run.result)}"


def _recovery_text(result: VariantResult) -> str:
    recovery = result.recovery
    if recovery.reason:
        return f"recovery unknown: {recovery.reason}"
    if recovery.after_s is None:
        return f"not recovered within {recovery.watched_s} s"
    return f"recovered {recovery.after_s} s after the load fell"


def _variant_row(name: str, run: VariantRun, limit_ms: float) -> list[str]:
    link = f"[{run.run}]({quote(run.run)}.md)" if run.run else ""
    if run.result is None:
        return [name, "INVALID", "", "", "", "", "", link]
    verdict, recovery = judge(run.result.levels, limit_ms), run.result.recovery
    kept = verdict.kept
    after = "unknown" if recovery.reason else f"not in {recovery.watched_s}"
    return [
        name,
        verdict.state,
        percent(kept.ratio) if kept else "",
        f"{percent(kept.low_ratio)}-{percent(kept.high_ratio)}" if kept else "",
        units.rate_text(verdict.peak.goodput.value) if verdict.peak else "",
        percent(verdict.peak.offered_ratio) if verdict.peak else "",
        after if recovery.after_s is None else str(recovery.after_s),
        link,
    ]


def _level_row(level: LevelResult) -> list[str]:
    interval, rate = level.interval, units.rate_text
    return [
        percent(level.offered_ratio),
        rate(level.offered_per_s),
        rate(level.started_per_s),
        rate(level.goodput.value),
        f"{rate(interval.low_per_s)}-{rate(interval.high_per_s)}",
        *map(str, (level.good_count, level.late_count)),
        *map(str, (level.rejected_fast_count, level.rejected_slowly_count, level.timed_out_count)),
        units.ms_text(level.p90_ms),
        *map(str, (level.scheduled_user_count, level.started_user_count, level.missing_user_count)),
    ]


def _run_text(result: VariantResult) -> str:
    """Return what else is known of a variant: users at once, the client's time-outs, and the verdict of the run."""
    users = "unknown" if result.most_users is None else str(result.most_users)
    verdict = ": ".join(part for part in (result.run_state, "; ".join(result.run_reasons)) if part)
    parts = [
        f"{units.rate_text(result.requests_per_user)} requests per user",
        f"at most {users} users at once (one thread of JMeter each)",
        f"time-outs of the client: {result.time_outs}",
        f"the run is {verdict}",
    ]
    return f"{'; '.join(parts)}."


def _setup(record: OverloadRecord) -> list[tuple[str, str]]:
    levels, rest = ", ".join(map(percent, OFFERED_RATIOS)), percent(REST_RATIO)
    rate = "unknown" if record.capacity_per_s is None else f"{record.capacity_per_s:.4g} new users/s"
    common = " ".join(common_assignments(record.variants)) if len(record.variants) > 1 else ""
    return [
        *([("--set of all variants", common)] if common else []),
        ("goal", f"an answer within {units.number_text(record.limit_ms)} ms ({record.goal})"),
        ("100 %", f"{rate} ({record.capacity_source})"),
        ("levels", f"{record.level_s} s each at {levels} %, after a warm-up of {record.level_s} s at {rest} %"),
        ("recovery", f"{RECOVERY_LEVELS * record.level_s} s at {rest} %"),
        ("profile", record.profile),
        ("target", record.target or "the plan's system, started anew for each variant"),
    ]


def write_overload_report(files: ExperimentFiles, record: OverloadRecord) -> None:
    """Write the Markdown report and the chart, and the result into the record's file; the notes block is preserved."""
    chart = goodput_chart(record)
    write_page(files.report, lambda notes: overload_report(record, notes), record.note)
    store_result(files.report, result_of(record))
    write_charts(files.folder, [chart] if chart else [], FILE_NAME)


def goodput_chart(record: OverloadRecord) -> Chart | None:
    """Return the chart; None without a measured variant."""
    names = record.variant_names
    levels_by_name = {names[run.variant]: run.result.levels for run in record.measured if run.result}
    if not levels_by_name:
        return None
    offered = tuple((round(100 * one.offered_ratio), one.offered_per_s) for one in next(iter(levels_by_name.values())))
    marks = Marks(curve=offered, curve_name="offered")
    lines = []
    for name, levels in levels_by_name.items():
        at = [(round(100 * level.offered_ratio), level) for level in levels]
        ranges = tuple(Range(x, level.interval.low_per_s, level.interval.high_per_s) for x, level in at)
        points = tuple((x, level.goodput.value) for x, level in at)
        lines.append(Line(name, points, ranges, range_text="95 % interval"))
    unit = "requests/s answered within the goal"
    return Chart(CHART_NAME, chart("Goodput", unit, lines, marks, LevelAxis("load % of the capacity")))
