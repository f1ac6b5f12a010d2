"""Renders a release page as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from harness.base.plain_text import one_line
from harness.cloudwatch.queries import EBS, EC2, ECS
from harness.compare.comparison_warnings import warnings_of
from harness.judge.growth import growth_text
from harness.judge.summary import RunSummary
from harness.judge.verdict import headline
from harness.metrics.figures import LOAD
from harness.metrics.resource_growth import GROWS
from harness.release import resources
from harness.release.around import Around, around_tables
from harness.release.cells import Runs, TitledTable
from harness.release.changes import label_tables, one_sided, reasons, total_tables
from harness.release.databases import sql_table, wait_table
from harness.release.infrastructure import infrastructure_table, read_times
from harness.release.jobs import job_tables, load_table
from harness.release.limits import limits, repeats
from harness.release.memory import MemoryTrend, long_trend, trends
from harness.release.release import NamedSweep, Release
from harness.release.summary import STEPS_MOST, overview_lines, recommendations, result_of, settings_of, summary_lines
from harness.release.tables import COLUMNS, error_table, goal_table, run_table
from harness.report.first_screen import ROWS_MOST, WEAKENED_MOST, first_screen, printed_screen
from harness.report.markdown import image
from harness.report.run_result import RunResult
from harness.report.run_tables import growth_notes, growth_table
from harness.report.setup import load_text
from harness.report.tables import cell, table
from harness.report.template import filled
from harness.sweep.overlay import KEYS, comparison_table, with_names
from harness.sweep.processes import growth_note, growth_section
from harness.sweep.render import SweepPage
from harness.sweep.text import doubts_of, notes_of

# The layouts of a page, by name: that of a performance team with a page per release.
TEMPLATES = {"ptf": "ptf.md.j2"}
_SERVICES = frozenset({ECS, EC2, EBS})
# A longer table of test runs is folded.
_ROWS_MOST = 12
# The first chart of the sessions of a database.
SESSIONS = "sessions-"


class Links(NamedTuple):
    """Links from the page: to reports of runs by the run's name, and to the reports of sweeps by theirs."""

    runs: Mapping[str, str]
    sweeps: Mapping[str, str]


def release_page(release: Release, page: SweepPage, links: Links, template: str = "ptf") -> str:
    """Return the page as Markdown. `page` has charts, the text of the notes block, and the command."""
    new, base = release.names[:2]
    settings = [[cell(one.name), cell(one.contender), cell(one.baseline)] for one in settings_of(release)]
    images = [image(chart, page.folder) for chart in page.charts if not chart.name.startswith(SESSIONS)]
    warnings = [*repeats(release), *_warnings(release)]
    return filled(
        "harness.release",
        TEMPLATES[template],
        command=one_line(page.command),
        new=cell(new),
        bases=cell(", ".join(release.names[1:])),
        base=cell(base),
        plan=cell(", ".join(release.plans)),
        first_screen=first_screen(
            result_of(release),
            chart=images[0] if images else "",
            table=_key_tables(release),
            weakened_by=[cell(text) for text in warnings[:WEAKENED_MOST]],
        ),
        overview=[(cell(name), cell(value)) for name, value in overview_lines(release)],
        summary=[cell(line) for line in summary_lines(release)],
        plan_notes=[cell(note) for note in _plan_notes(release)],
        recommendations=[cell(line) for line in recommendations(release)[STEPS_MOST:]],
        limits=[cell(line) for line in limits(release)],
        notes=page.notes,
        run_table=run_table(release, links.runs),
        is_long=len(_runs(release.results)) > _ROWS_MOST,
        is_repeated=any(len(runs) > 1 for side in release.results for runs in side.values()),
        images=images[1:],
        goal_table=goal_table(release.results, release.names),
        error_table=error_table(release.results, release.names),
        setting_table=table(["setting", cell(new), cell(base)], settings, text_columns=3) if settings else "",
        infrastructure_table=infrastructure_table([one.infrastructure for one in release.editions], release.names),
        read_times=[cell(text) for text in read_times((one.name, one.infrastructure) for one in release.editions)],
        sweep_links=[(cell(name), quote(link)) for name, link in links.sweeps.items()],
        commands=[(cell(one.name), one_line(one.sweep.record.command)) for one in _named(release) if one.sweep.record],
        warnings=[cell(text) for text in warnings[WEAKENED_MOST:]],
        **_measured(release, page),
    )


def _measured(release: Release, page: SweepPage) -> dict[str, object]:
    """Return the tables of response times, jobs, services, databases, brokers and memory."""
    results, names = release.results, release.names
    others = resources.kinds_of(results) - _SERVICES - resources.DATABASES
    growth = [(cell(one.name), growth_section(one.sweep)) for one in _named(release)]
    found_trends = trends(release)
    return {
        "total_tables": total_tables(release),
        "label_tables": label_tables(release),
        "one_sided": [cell(text) for text in one_sided(release.levels[0], names[1], names[0])],
        "reasons": [cell(text) for text in reasons(release.levels[0])],
        "job_tables": job_tables(release),
        "load_table": load_table(release),
        "participant_table": resources.participant_table(results[0]),
        "service_tables": resources.cloud_tables(results, names, _SERVICES),
        "idle_tables": resources.cloud_tables(results, names, _SERVICES, idle=True),
        "cloud_title": resources.cloud_title(results),
        "around_tables": around_tables(_arounds(release)),
        "process_table": resources.process_table(results, names),
        "database_tables": _database_tables(release),
        "session_images": [image(one, page.folder) for one in page.charts if one.name.startswith(SESSIONS)],
        "other_tables": resources.cloud_tables(results, names, others),
        "growth": [(name, found) for name, found in growth if found],
        "growth_note": growth_note(),
        "trends": [(cell(one.sentence), growth_table(one.growths) if one.growths else "") for one in found_trends],
        "trend_notes": " ".join(_notes_of(found_trends)),
        **_long(release),
    }


def _arounds(release: Release) -> Iterator[tuple[str, Around]]:
    for edition in release.editions:
        for plan, around in edition.arounds.items():
            yield edition.name if len(release.plans) == 1 else f"{edition.name} {plan}", around


def _database_tables(release: Release) -> list[TitledTable]:
    results, names = release.results, release.names
    own = (
        TitledTable("Average active sessions by wait", wait_table(release)),
        TitledTable("Top SQL, and the change of its time per request", sql_table(release)),
        TitledTable("Statements", resources.statement_table(results, names)),
    )
    return [*(one for one in own if one.table), *resources.cloud_tables(results, names, resources.DATABASES)]


def _notes_of(found: Sequence[MemoryTrend]) -> list[str]:
    grown = [growth for trend in found for growth in trend.growths]
    return growth_notes(grown, 0, is_soak=False)


def _long(release: Release) -> dict[str, object]:
    """Return the lines, the table and the notes of the long run."""
    long, trend = release.long, long_trend(release)
    if long is None or trend is None:
        return {"long": [], "long_table": "", "long_notes": ""}
    return {
        "long": [(name, cell(value)) for name, value in long_lines(long)],
        "long_table": growth_table(trend.growths) if trend.growths else "",
        "long_notes": " ".join(growth_notes(trend.growths, long.window.length_s, is_soak=True)),
    }


def printed_release(release: Release) -> str:
    """Return the first screen for a terminal."""
    doubts = (*_plan_notes(release), *repeats(release), *_warnings(release))[:WEAKENED_MOST]
    return printed_screen(result_of(release), table=_key_tables(release), weakened_by=doubts)


def _key_tables(release: Release) -> str:
    """Return the table of each workload, with its name if there are several, and at most ROWS_MOST rows in all."""
    most = max(2, ROWS_MOST // len(release.plans))
    tables = {plan: comparison_table(whole, KEYS, most) for plan, whole in release.wholes.items()}
    if len(release.plans) == 1:
        return next(iter(tables.values()))
    return "\n\n".join(f"{cell(plan)}:\n\n{text}" for plan, text in tables.items())


def _named(release: Release) -> list[NamedSweep]:
    return [one for edition in release.editions for one in release.named(edition)]


def _plan_notes(release: Release) -> list[str]:
    """Return the plans' notes on their results, such as that a stand-in replaces a system."""
    return list(dict.fromkeys(note for one in _named(release) for run in one.sweep.records for note in run.plan_notes))


def _of_comparisons(release: Release) -> Iterator[str]:
    """Yield the warnings of the comparisons, without those of their runs."""
    for base, levels in zip(release.results[1:], release.levels, strict=True):
        for one, found in levels.items():
            of_runs = {*warnings_of([*base[one], *release.results[0][one]])}
            yield from (text for text in found.warnings if text not in of_runs)


def _runs(results: Sequence[Runs]) -> list[RunResult]:
    return [run for side in results for runs in side.values() for run in runs]


def _warnings(release: Release) -> list[str]:
    """Return every warning of all sweeps and their runs once; those of the plan are at the top of the page."""
    of_plan, named = _plan_notes(release), _named(release)
    names = [one.name for one in named]
    doubts = with_names(names, (doubts_of(one.sweep, one.analysis) for one in named))
    notes = with_names(names, (notes_of(one.sweep) for one in named))
    warnings = [*doubts, *dict.fromkeys(_of_comparisons(release)), *warnings_of(_runs(release.results)), *notes]
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
