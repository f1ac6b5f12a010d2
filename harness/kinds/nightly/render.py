"""Render a nightly report: verdict, findings, changes, metrics, runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from harness.base import units
from harness.compare.render import WEAKENED_BY_MOST, Heads, cause_table
from harness.history.render import change_text
from harness.history.summary_page import start_text
from harness.kinds.nightly.answer import result_of
from harness.kinds.nightly.chart import check_chart
from harness.kinds.nightly.gate import (
    GONE_LABEL,
    IMPROVED,
    NEW_ENVIRONMENT,
    NEW_LABEL,
    NO_VALUE,
    OK,
    OTHER_WORK,
    REGRESSED,
    WARNED,
    Check,
)
from harness.kinds.nightly.outcome import FAILED, LoadOutcome, LoadResult, NightlyResult
from harness.metrics.metric import Metric, Table, columns_of_runs
from harness.report.charts.chart import Chart
from harness.report.first_screen import first_screen
from harness.report.goal_tables import GOAL_HEADS, goal_rows
from harness.report.markdown import image
from harness.report.profiles import profile_links
from harness.report.tables import cell, in_comment, table
from harness.report.template import filled

# Changed metrics, which have charts, and what cannot be judged; worst first.
_DRAWN = (REGRESSED, WARNED, IMPROVED)
_UNJUDGED = (NEW_ENVIRONMENT, NO_VALUE, OTHER_WORK, NEW_LABEL, GONE_LABEL)
# Charts of a report; files of this pattern that the report no longer has are deleted.
FILE_NAME = re.compile(r"\d+-\d+\.svg")
_METRICS = columns_of_runs(Table.BRIEF)
_RUN_HEADS = (
    "run", "load", "round", "verdict", "started UTC", *(metric.title for metric in _METRICS), "took",
)  # fmt: skip
_CHECK_HEADS = ("label", "metric", "verdict", "baseline", "tonight", "change", "limit")
_KEY_ROWS_MOST = 12
_TEXT_COLUMNS = 4


def nightly_report(result: NightlyResult, charts: Mapping[int, Sequence[Chart]], notes: str) -> str:
    """Return the report as Markdown; `charts` are the charts of each load by index, in the report's folder."""
    record, shown, findings = result.record, result_of(result), list(_findings(result))
    first = next((chart for of_load in charts.values() for chart in of_load), None)
    goals = [[*_run_cells(outcome), *row] for outcome in result.outcomes for row in goal_rows(outcome.goals)]
    return filled(
        "harness.kinds.nightly",
        "nightly.md.j2",
        command=f"lth experiment {record.name}",
        made_by=in_comment(record.command),
        title=cell(shown.title),
        first_screen=first_screen(
            shown,
            chart=image(first, record.name) if first else "",
            table=_key_table(result),
            weakened_by=findings[:WEAKENED_BY_MOST],
        ),
        findings=findings[WEAKENED_BY_MOST:],
        time_line=time_line(result),
        undelivered=[cell(line) for line in record.undelivered],
        changes=list(_changes(result)),
        loads=[
            {
                "title": cell(load.load.title) + f", profile {cell(load.load.profile)}",
                "table": _check_table(load.checks),
                "too_few": cell(", ".join(load.too_few)),
                "notes": [cell(note) for note in (*_notes(load.checks), *([load.unseen] if load.unseen else []))],
                "growth": _growth(load),
                "profiles": _profiles(load, result.outcomes),
                "images": [image(chart, record.name) for chart in charts.get(index, ()) if chart is not first],
                "is_changed": any(check.metric and check.state in _DRAWN for check in load.checks),
            }
            for index, load in enumerate(result.loads)
        ],
        goal_table=table(("run", "load", "round", *GOAL_HEADS), goals, 3 + len(GOAL_HEADS)) if goals else "",
        run_table=table(_RUN_HEADS, [_run_row(outcome) for outcome in result.outcomes], _TEXT_COLUMNS + 1),
        notes=notes,
    )


def nightly_charts(result: NightlyResult) -> dict[int, list[Chart]]:
    """Return the charts of the changed metrics by the index of their load."""
    drawn = ([one for one in load.checks if one.metric and one.state in _DRAWN] for load in result.loads)
    return {
        index: [check_chart(check, f"{index + 1:02d}-{number:02d}.svg") for number, check in enumerate(checks, start=1)]
        for index, checks in enumerate(drawn)
    }


def _key_table(result: NightlyResult) -> str:
    """Return the changed metrics, worst first; without a change the runs with their key metrics."""
    changed = [
        (load, check) for load in result.loads for check in load.checks if check.metric and check.state in _DRAWN
    ]
    changed.sort(key=lambda pair: _DRAWN.index(pair[1].state))
    if changed:
        rows = [[cell(load.load.title), *_check_row(check)] for load, check in changed[:_KEY_ROWS_MOST]]
        return table(("load", *_CHECK_HEADS), rows, 4)
    rows = [[*row[:2], *row[3:4], *row[5:-1]] for row in map(_run_row, result.outcomes[:_KEY_ROWS_MOST])]
    return table((*_RUN_HEADS[:2], *_RUN_HEADS[3:4], *_RUN_HEADS[5:-1]), rows, 3)


def _findings(result: NightlyResult) -> Iterator[str]:
    """Yield what is missing or not judged, worst first."""
    for index, outcome in enumerate(result.outcomes):
        if outcome.state != OK or outcome.reasons:
            why = cell("; ".join(outcome.reasons) or "unknown reason")
            log = f"{quote(result.record.name)}/{quote(result.record.log_name(index))}"
            output = f"; [its output]({log})" if outcome.state == FAILED else ""
            yield f"{outcome.state}: {_run_text(outcome)}: {why}{output}"
    yield from (f"NO LABEL: {cell(label)}: the suite judges it, but no run has it" for label in result.missing_labels)
    yield from (f"STORAGE: {cell(problem)}" for problem in result.record.storage_problems)
    yield from _of_checks(result, _UNJUDGED)
    date = result.record.name[: len("2026-11-21")]
    for load in result.loads:
        if load.others_count:  # runs of other nightly runs of the date
            more = f"{units.plural(load.others_count, 'more run')} of {date}, outside this nightly run,"
            count = "counts" if load.others_count == 1 else "count"
            why = "all runs of a date are one nightly run"
            yield f"ONE DATE: {cell(load.load.title)}: {more} {count} with it: {why}"


def _of_checks(result: NightlyResult, states: Sequence[str]) -> Iterator[str]:
    """Yield the checks of some states, in the order of the states."""
    found = [(load, check) for load in result.loads for check in load.checks if check.state in states]
    found.sort(key=lambda pair: states.index(pair[1].state))
    yield from (_finding(load, check) for load, check in found)


def _run_text(outcome: LoadOutcome) -> str:
    """Return the load and round of a run, with a link to its report if there is one."""
    load, run = outcome.load, outcome.run
    title = cell(load.title) + (f", round {run.round_number}" if load.repeats > 1 else "")
    return f"{_run_link(outcome)} of {title}" if run.run else title


def _run_link(outcome: LoadOutcome) -> str:
    run = outcome.run.run
    return f"[{run}]({quote(outcome.load.plan)}/{quote(run)}.md)" if run else ""


def _finding(load: LoadResult, check: Check) -> str:
    # The findings of the runs contain the reason.
    no_value = "no run is valid; its history continues without tonight"
    text = no_value if check.state == NO_VALUE else check_text(check)
    return f"{check.state}: {cell(load.load.title)}: {cell(text)}"


def _notes(checks: Sequence[Check]) -> Iterator[str]:
    """Yield the notes about metrics that are OK; metrics with the same note share a line."""
    figures_by_note: dict[str, list[str]] = {}
    for check in checks:
        if check.metric and check.state == OK and check.note:
            figures_by_note.setdefault(check.note, []).append(f"{check.label} {check.metric.title}")
    yield from (f"{', '.join(figures)}: {note}" for note, figures in figures_by_note.items())


def check_text(check: Check) -> str:
    """Return a check in one sentence."""
    if check.state in (NEW_ENVIRONMENT, NO_VALUE, OTHER_WORK):
        return check.note
    metric = f"{check.label} {check.metric.title}" if check.metric else check.label
    text = f"{metric}: {_against(check, check.metric)}" if check.value is not None and check.metric else metric
    return f"{text}; {check.note}" if check.note else text


def _against(check: Check, metric: Metric) -> str:
    """Return tonight's value, and its baseline, change and limit if known."""
    value, unit = metric.mean_text(check.value), metric.change_unit
    if check.baseline is None:
        return value
    limit = f", limit {units.percent_text(check.limit_ratio)} {unit}" if check.limit_ratio is not None else ""
    since = f", since {check.since}" if check.since else ""
    baseline = metric.mean_text(check.baseline)
    return f"{value} against {baseline} ({change_text(check.change_ratio)} {unit}{limit}){since}"


def _check_table(checks: Sequence[Check]) -> str:
    rows = [[*_check_row(check), str(check.earlier_count)] for check in checks if check.metric]
    heads = (*_CHECK_HEADS, "earlier runs")
    return table(heads, rows, 3) if rows else "No metric is judged: see the findings above and the runs below."


def _check_row(check: Check) -> list[str]:
    assert check.metric
    return [
        cell(check.label),
        check.metric.title,
        f"**{check.state}**" if check.state == REGRESSED else check.state,
        check.metric.mean_text(check.baseline),
        check.metric.mean_text(check.value),
        _with_unit(change_text(check.change_ratio), check.metric),
        _with_unit(units.percent_text(check.limit_ratio), check.metric),
    ]


def _growth(load: LoadResult) -> str:
    """Return the table of what grew inside the system, with a line above it; empty without any."""
    if load.growth is None:
        return ""
    date = load.growth.date
    grown = cause_table(load.growth.causes, Heads(date, "tonight"))
    return f"What grew inside the system since the nightly run of {date}:\n\n{grown}"


def _profiles(load: LoadResult, outcomes: Sequence[LoadOutcome]) -> str:
    """Return links to the profiles of a load's runs; empty without any."""
    links = [
        profile_links(run, f"{outcome.load.plan}/{run}", outcome.result.profiles)
        for outcome in outcomes
        if outcome.load == load.load and outcome.result and outcome.result.is_profiled and (run := outcome.run.run)
    ]
    return f"Where the time went: {', '.join(links)}." if links else ""


def _with_unit(text: str, metric: Metric) -> str:
    return f"{text} {metric.change_unit}" if text else ""


def time_line(result: NightlyResult) -> str:
    """Return how many runs were measured, in which time, when they started, and the commit."""
    record = result.record
    measured = sum(outcome.result is not None for outcome in result.outcomes)
    took = f"{units.duration_text(round(record.spent_s))} of {units.duration_text(record.budget_s)}"
    runs = f"{measured} of {units.plural(len(result.outcomes), 'run')} measured"
    commit = "unknown"
    if record.git_commit is not None:
        commit = record.git_commit[:12] + (" with changes" if record.git_changed else "")
    return f"{runs} in {took}, from {start_text(record.started_at)} UTC; commit {commit}"


def _changes(result: NightlyResult) -> Iterator[str]:
    """Yield the changed metrics, and the set-up changes and commits since the last nightly run."""
    yield from _of_checks(result, _DRAWN)
    titles_by_change: dict[str, list[str]] = {}
    for load in result.loads:
        for one in load.differences:
            change = f"{one.name}: {one.baseline} → {one.contender} (last measured {load.last_date})"
            titles_by_change.setdefault(change, []).append(load.load.title)
    for change, titles in titles_by_change.items():
        where = "" if len(titles) == len(result.loads) else f" ({'; '.join(titles)})"
        yield cell(f"{change}{where}")
    first = [load.load.title for load in result.loads if load.checks and load.last_date is None]
    if first:
        yield cell(f"measured for the first time: {'; '.join(first)}")
    commits = result.record.commits
    if commits:
        now = (result.record.git_commit or "")[:12]
        more = commits.count - len(commits.subjects)
        subjects = [*map(cell, commits.subjects), *([f"and {more} more"] if more else [])]
        head = f"{units.plural(commits.count, 'commit')} since the last nightly run, {commits.since[:12]}..{now}:"
        yield head + "".join(f"\n  - {subject}" for subject in subjects)
    if not titles_by_change and not first and not commits:
        yield "no known change: same set-up and same commit as in the last nightly run"


def _run_cells(outcome: LoadOutcome) -> list[str]:
    return [_run_link(outcome), cell(outcome.load.title), str(outcome.run.round_number)]


def _run_row(outcome: LoadOutcome) -> list[str]:
    total = outcome.result.total if outcome.result else None
    run = outcome.result.run if outcome.result else None
    figures = [metric.text(metric.of(total)) for metric in _METRICS] if total else [""] * len(_METRICS)
    took_s = outcome.run.took_s
    return [
        *_run_cells(outcome),
        outcome.state,
        start_text(run.started_at) if run else "",
        *figures,
        "" if took_s is None else units.duration_text(round(took_s)),
    ]
