"""Renders a release page as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import quote

from harness.metrics.figures import LOAD
from harness.metrics.resource_growth import GROWS
from harness.release import resources
from harness.release.around import around_tables
from harness.release.changes import label_table, level_table, one_sided, reasons
from harness.release.infrastructure import infrastructure_table, read_times
from harness.release.release import Release, record_of
from harness.release.sides import Sides
from harness.release.summary import (
    STEPS_MOST,
    overview_lines,
    recommendations,
    result_of,
    settings_of,
    summary_lines,
)
from harness.release.tables import COLUMNS, error_table, goal_table, run_table
from harness.report.first_screen import ROWS_MOST, WEAKENED_MOST, first_screen, printed_screen
from harness.report.growth import growth_notes, growth_table, growth_text
from harness.report.markdown import image
from harness.report.notes import NOTES_BEGIN, NOTES_END
from harness.report.setup import load_text
from harness.report.summary import RunSummary
from harness.report.tables import cell, one_line, table
from harness.report.template import filled
from harness.report.verdict import headline
from harness.sweep.overlay import KEYS, comparison_table, with_names
from harness.sweep.processes import growth_note, growth_section
from harness.sweep.render import Page
from harness.sweep.text import doubts_of, notes_of

# The layouts of a page, by name: that of a performance team with a page per release.
TEMPLATES = {"ptf": "ptf.md.j2"}


class Links(NamedTuple):
    """Links from the page: to reports of runs by the run's name, and to the reports of the sweeps."""

    runs: Mapping[str, str]
    sweeps: Sides[str]


def release_page(release: Release, page: Page, links: Links, template: str = "ptf") -> str:
    """Return the page as Markdown. `page` has charts, the text of the notes block, and the command."""
    runs, names, levels, long = release.runs, release.names, release.levels, release.long
    records = Sides(record_of(release.base), record_of(release.new))
    settings = [[cell(one.name), cell(one.baseline), cell(one.contender)] for one in settings_of(release)]
    growth = [(cell(name), growth_section(sweep)) for name, sweep in zip(names, release.sweeps, strict=True)]
    images, warnings = [image(chart, page.folder) for chart in page.charts], _warnings(release)
    return filled(
        "harness.release",
        TEMPLATES[template],
        command=one_line(page.command),
        base=cell(names.base),
        new=cell(names.new),
        plan=cell(records.new.plan),
        first_screen=first_screen(
            result_of(release),
            chart=images[0] if images else "",
            table=_key_table(release),
            weakened_by=[cell(text) for text in warnings[:WEAKENED_MOST]],
        ),
        overview=[(cell(name), cell(value)) for name, value in overview_lines(release)],
        summary=[cell(line) for line in summary_lines(release)],
        plan_notes=[cell(note) for note in _plan_notes(release)],
        recommendations=[cell(line) for line in recommendations(release)[STEPS_MOST:]],
        notes_begin=NOTES_BEGIN,
        notes_end=NOTES_END,
        notes=page.notes,
        run_table=run_table(list(zip(reversed(names), reversed(release.sweeps), strict=True)), links.runs),
        level_table=level_table(levels, names),
        label_table=label_table(levels, names),
        is_repeated=any(len(level) > 1 for side in runs for level in side.values()),
        one_sided=[cell(text) for text in one_sided(levels, names)],
        reasons=[cell(text) for text in reasons(levels)],
        images=images[1:],
        goal_table=goal_table(runs, names),
        error_table=error_table(runs, names),
        service_tables=resources.cloud_tables(runs, names, resources.service_kinds(runs)),
        cloud_title=resources.cloud_title(runs),
        around_tables=around_tables(*release.arounds, names),
        process_table=resources.process_table(runs, names),
        database_tables=resources.cloud_tables(runs, names, resources.DATABASES),
        statement_table=resources.statement_table(runs, names),
        growth=[(name, found) for name, found in growth if found],
        growth_note=growth_note(),
        long=[(name, cell(value)) for name, value in long_lines(long)] if long else [],
        long_table=growth_table(long.observed.growths) if long and long.observed.growths else "",
        long_notes=growth_notes(long.observed.growths, long.window.length_s, is_soak=True) if long else [],
        setting_table=table(["setting", *map(cell, names)], settings, text_columns=3) if settings else "",
        infrastructure_table=infrastructure_table(*release.infrastructures, names),
        read_times=[cell(text) for text in read_times(zip(names, release.infrastructures, strict=True))],
        sweep_links=[(cell(record.id), quote(link)) for record, link in zip(records, links.sweeps, strict=True)],
        commands=[(cell(name), one_line(record.command)) for name, record in zip(names, records, strict=True)],
        warnings=[cell(text) for text in warnings[WEAKENED_MOST:]],
    )


def printed_release(release: Release) -> str:
    """Return the first screen for a terminal."""
    doubts = (*_plan_notes(release), *_warnings(release)[:WEAKENED_MOST])
    return printed_screen(result_of(release), table=_key_table(release), weakened_by=doubts)


def _key_table(release: Release) -> str:
    names = release.names
    return comparison_table(replace(release.whole, base=names.base, new=names.new), KEYS, ROWS_MOST)


def _plan_notes(release: Release) -> list[str]:
    """Return the plan's notes on its results, such as that a stand-in replaces a system."""
    return list(dict.fromkeys(note for sweep in release.sweeps for run in sweep.records for note in run.plan_notes))


def _warnings(release: Release) -> list[str]:
    """Return every warning of both sweeps and their runs once; those of the plan are at the top of the page."""
    of_plan = _plan_notes(release)
    doubts = with_names(release.names, map(doubts_of, release.sweeps, release.analyses))
    of_runs = dict.fromkeys(text for comparison in release.levels.values() for text in comparison.warnings)
    warnings = [*doubts, *of_runs, *with_names(release.names, map(notes_of, release.sweeps))]
    return [text for text in warnings if not text.endswith(tuple(of_plan))]


def long_lines(summary: RunSummary) -> list[tuple[str, str]]:
    """Return the run as (name, value) pairs: load, verdict, metrics, how its last third differs from its first, and
    what grows.
    """
    lines = [("run", summary.source)]
    if summary.run:
        lines.append(("load", load_text(summary.run.load)))
    lines.append(("verdict", headline(summary.verdict)))
    if load := summary.group(LOAD):
        values = [(metric, metric.of(load.total)) for metric in COLUMNS]
        texts = [f"{metric.phrase} {metric.text(value)} {metric.unit}" for metric, value in values if value is not None]
        lines.append(("in the measurement window", ", ".join(texts)))
    if summary.thirds:
        lines.append(("change over the run", summary.thirds.text))
    if summary.observed.growths:
        growing = [growth_text(growth) for growth in summary.observed.growths if growth.verdict == GROWS]
        lines.append(("growth", "; ".join(growing) or "no resource grows beyond chance"))
    return lines
