"""Renders the Markdown report of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.base import units
from harness.base.plain_text import one_line
from harness.experiment.record import RUNNING
from harness.judge.account import AccountLine
from harness.report.account_table import accounts_line, accounts_table
from harness.report.charts.chart import Chart
from harness.report.first_screen import WEAKENED_MOST, first_screen, printed_screen
from harness.report.markdown import image
from harness.report.setup import setup_lines
from harness.report.tables import cell
from harness.report.template import filled
from harness.sweep import level_tables, processes
from harness.sweep.analysis import SweepAnalysis
from harness.sweep.answer import result_of
from harness.sweep.levels import Sweep
from harness.sweep.record import CAPACITY, SweepRecord
from harness.sweep.text import counted_text, differing, doubts_of, findings, levels_text, notes_of, users_text

# The charts that belong to sections of their own.
_PROCESS_CHARTS, _JVM_CHARTS = ("cpu.svg", "memory.svg"), ("heap", "jvm-cpu")


@dataclass(frozen=True)
class SweepPage:
    """Charts, notes and command of a report; `folder` contains the charts, `command` writes the same report again."""

    charts: Sequence[Chart]
    notes: str
    folder: str
    command: str


def sweep_report(sweep: Sweep, analysis: SweepAnalysis, page: SweepPage, links: Mapping[str, str]) -> str:
    """Return the report of one sweep; `links` lead to the reports of its runs."""
    record = sweep.record
    images = [
        image(one, page.folder)
        for one in page.charts
        if one.name not in _PROCESS_CHARTS and not one.name.startswith(_JVM_CHARTS)
    ]
    doubts = doubts_of(sweep, analysis)
    profiles = (processes.profile_table(sweep.levels), processes.statement_table(sweep.levels))
    return filled(
        "harness.sweep",
        "sweep.md.j2",
        command=one_line(page.command),
        made_by=one_line(record.command) if record else "",
        title=cell(sweep.name),
        first_screen=first_screen(
            result_of(sweep, analysis),
            chart=images[0] if images else "",
            table=level_tables.key_table(sweep, analysis),
            weakened_by=[cell(text) for text in doubts[:WEAKENED_MOST]],
        ),
        is_measured=bool(sweep.records),
        setup=[(name, cell(value)) for name, value in set_up(sweep, analysis)],
        account_table=accounts_table(_accounts(sweep), "run"),
        level_table=level_tables.level_table(sweep, analysis, links),
        counted=cell(counted_text(sweep.levels, sweep.label)),
        has_successes=level_tables.has_errors(sweep.levels),
        has_cpu=any(level_tables.knows(sweep.levels, name) for name in ("generator_cpu_cores", "system_cpu_cores")),
        is_repeated=any(len(level.counted) > 1 for level in sweep.levels),
        range_table=level_tables.range_table(sweep.levels),
        transaction_table=level_tables.transaction_table(sweep.levels),
        steps_table=level_tables.steps_table(sweep, analysis, links),
        images=images[1:],
        process_table=processes.process_table(sweep.levels),
        process_images=[image(one, page.folder) for one in page.charts if one.name in _PROCESS_CHARTS],
        heap_table=processes.heap_table(sweep.levels),
        recorded_table=processes.recorded_table(sweep.levels),
        heap_images=[image(one, page.folder) for one in page.charts if one.name.startswith(_JVM_CHARTS)],
        profile_tables=[*filter(None, profiles)],
        cloud_tables=processes.cloud_level_tables(sweep.levels),
        cloud_title=processes.cloud_title(sweep.levels),
        growth=processes.growth_section(sweep),
        growth_note=processes.growth_note(),
        findings=[(name, cell(text)) for name, text in findings(sweep, analysis).items()],
        notes=page.notes,
        warnings=[cell(text) for text in (*doubts[WEAKENED_MOST:], *notes_of(sweep))],
    )


def printed_sweep(sweep: Sweep, analysis: SweepAnalysis) -> str:
    """Return the first screen of one sweep for a terminal, where `log_end` prints how to resume it."""
    result, record = result_of(sweep, analysis), sweep.record
    is_open = record is not None and (record.state == RUNNING or record.stop_reason)
    return printed_screen(
        replace(result, next_steps=()) if is_open else result,
        table="\n\n".join(filter(None, (level_tables.key_table(sweep, analysis), accounts_line(_accounts(sweep))))),
        weakened_by=doubts_of(sweep, analysis)[:WEAKENED_MOST],
    )


def _accounts(sweep: Sweep) -> dict[str, Sequence[AccountLine]]:
    """Return the accounts of the runs of all levels."""
    runs = ((level, run) for level in sweep.levels for run in level.runs)
    return {f"{run.name.rpartition('/')[2]} ({level.text})": run.account for level, run in runs}


def set_up(sweep: Sweep, analysis: SweepAnalysis) -> list[tuple[str, str]]:
    """Return the set-up as (name, value) pairs: the common settings of the runs, and the levels."""
    records, record = sweep.records, sweep.record
    lines: list[tuple[str, str]] = []
    if records:
        own = _own_lines(sweep)
        lines += [*own[:1], ("load", _load(sweep)), *own[1:]]
        lines.append(("started", min(run.started_at for run in records)))
        if all(run.took_s is not None for run in records):
            lines.append(("took", f"{units.duration_text(sum(run.took_s or 0 for run in records))} in all runs"))
        if differs := differing(sweep):
            lines.append(("differs between the runs", ", ".join(differs)))
    else:
        lines.append(("levels", levels_text(sweep.levels)))
    if record is not None:
        lines.append(("order", _order(record)))
    lines.append(("goal", (analysis.goal.text if analysis.goal else "") or "none"))
    return lines


def _own_lines(sweep: Sweep) -> list[tuple[str, str]]:
    """Return the set-up of the first run, without load and times; in a sweep over a setting with the values of all."""
    records = sweep.records if sweep.is_of_setting else sweep.records[:1]
    lines = [line for record in records for line in setup_lines(record) if line[0] not in ("load", "started", "took")]
    if len(records) == 1:
        return lines
    values_by_name: dict[str, dict[str, None]] = {}
    for name, value in lines:
        values_by_name.setdefault(name, {})[value] = None
    return [(name, "; ".join(values)) for name, values in values_by_name.items()]


def _load(sweep: Sweep) -> str:
    loads = [record.load for record in sweep.records]
    think = [load.think_time_s for load in loads]
    parts = [
        f"closed model, {users_text(dict.fromkeys(level.users for level in sweep.levels))}",
        _span([load.ramp_s for load in loads], "ramp {} s"),
        _span([load.duration_s for load in loads], "{} s in all"),
        _span([load.loops for load in loads], "{} loops each"),
        _span([load.requests for load in loads], "or about {} samples, whichever is first"),
        _span(think if any(think) else [], "think time {} s"),
    ]
    return ", ".join(part for part in parts if part)


def _span(values_or_none: Sequence[float | None], template: str) -> str:
    values = [value for value in values_or_none if value is not None]
    if not values:
        return ""
    low, high = units.number_text(min(values)), units.number_text(max(values))
    return template.format(low if low == high else f"{low} to {high}")


def _order(record: SweepRecord) -> str:
    if record.kind == CAPACITY:
        return "a search, step by step"
    if record.repeat > 1:
        return f"{record.repeat} rounds over all levels, so that drift affects all levels alike"
    return "one run per level, in the given order"
