"""Render a nightly report: verdict, findings, changes, metrics, runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from harness.base import units
from harness.compare.render import Heads, cause_table
from harness.experiment.record import RUNNING
from harness.history.render import change_text
from harness.history.summary_page import start_text
from harness.metrics.metric import Metric, Table, columns_of_runs
from harness.nightly.chart import check_chart
from harness.nightly.gate import (
    GONE_LABEL,
    IMPROVED,
    LEARNING,
    NEW_ENVIRONMENT,
    NEW_LABEL,
    NO_VALUE,
    OK,
    REGRESSED,
    WARNED,
    Check,
)
from harness.nightly.outcome import FAILED, GOAL_MISSED, LoadResult, NightlyResult, Outcome
from harness.report.charts.chart import Chart
from harness.report.markdown import GOAL_HEADS, goal_rows, image
from harness.report.profiles import profile_links
from harness.report.results import KeyFigure, Result
from harness.report.tables import cell, one_line, table
from harness.report.template import filled
from harness.report.verdict import INTERRUPTED

# States listed as findings above the tables, worst first.
_FINDING_STATES = (REGRESSED, WARNED, IMPROVED, NEW_ENVIRONMENT, NO_VALUE, NEW_LABEL, GONE_LABEL)
_DRAWN = (REGRESSED, WARNED, IMPROVED)
# Charts of a report; files of this pattern that the report no longer has are deleted.
FILE_NAME = re.compile(r"\d+-\d+\.svg")
_METRICS = columns_of_runs(Table.BRIEF)
_RUN_HEADS = (
    "run", "load", "round", "verdict", "started UTC", *(metric.title for metric in _METRICS), "took",
)  # fmt: skip
_CHECK_HEADS = ("label", "metric", "state", "tonight", "baseline", "change", "limit", "earlier runs", "worse since")
_TEXT_COLUMNS = 4


def nightly_report(result: NightlyResult, charts: Mapping[int, Sequence[Chart]], notes: str) -> str:
    """Return the report as Markdown; `charts` are the charts of each load by index, in the report's folder."""
    record = result.record
    goals = [[*_run_cells(outcome), *row] for outcome in result.outcomes for row in goal_rows(outcome.goals)]
    return filled(
        "harness.nightly",
        "nightly.md.j2",
        command=f"./aggregate.py nightly {record.name}",
        made_by=one_line(record.command).replace("-->", "->"),
        title=cell(record.title),
        date=record.name,
        headline=cell(result_of(result).headline),
        findings=list(_findings(result)),
        time_line=time_line(result),
        undelivered=[cell(line) for line in record.undelivered],
        changes=list(_changes(result)),
        loads=[
            {
                "title": cell(load.load.title) + f", profile {cell(load.load.profile)}",
                "table": _check_table(load.checks),
                "too_few": cell(", ".join(load.too_few)),
                "notes": [cell(note) for note in _notes(load.checks)],
                "growth": _growth(load),
                "profiles": _profiles(load, result.outcomes),
                "images": [image(chart, record.name) for chart in charts.get(index, ())],
            }
            for index, load in enumerate(result.loads)
        ],
        goal_table=table(("run", "load", "round", *GOAL_HEADS), goals, 3 + len(GOAL_HEADS)) if goals else "",
        run_table=table(_RUN_HEADS, [_run_row(outcome) for outcome in result.outcomes], _TEXT_COLUMNS + 1),
        notes=notes,
    )


def nightly_charts(result: NightlyResult) -> dict[int, list[Chart]]:
    """Return the charts of the changed metrics by the index of their load."""
    drawn = ([one for one in load.checks if one.state in _DRAWN] for load in result.loads)
    return {
        index: [check_chart(check, f"{index + 1:02d}-{number:02d}.svg") for number, check in enumerate(checks, start=1)]
        for index, checks in enumerate(drawn)
    }


def headline(result: NightlyResult) -> str:
    """Return the verdict and its reasons in one line."""
    states = Counter(check.state for check in result.checks)
    worse = ((REGRESSED, "worse than earlier nightly runs"), (WARNED, "worse for the first time"))
    parts = [f"{units.plural(states[state], 'metric')} {text}" for state, text in worse if states[state]]
    ends = [outcome.state for outcome in result.outcomes]
    for state in dict.fromkeys(ends):
        if state != OK:
            text = "with its goal missed" if state == GOAL_MISSED else state
            parts.append(f"{ends.count(state)} of {units.plural(len(ends), 'run')} {text}")
    if result.record.storage_problems:
        parts.append("not everything is in the storage")
    if result.missing_labels:
        parts.append("labels of the suite are missing")
    if not parts:
        runs = units.plural(len(ends), "run")
        is_judged = states[OK] or states[IMPROVED]
        drifts = _drifts(result)
        nothing = "no judged metric is worse" if list(_loads_not_judged(result)) else "no metric is worse"
        fine = drifts or f"{runs}, {nothing} than in earlier nightly runs"
        parts += [runs, fine] if drifts else [fine if is_judged else runs]
    if states[IMPROVED]:
        parts.append(f"{units.plural(states[IMPROVED], 'metric')} better")
    if states[LEARNING]:
        parts.append(f"{units.plural(states[LEARNING], 'metric')} not judged yet: too few nightly runs")
    parts += _loads_not_judged(result)
    before = "INTERRUPTED, so far " if result.record.state == RUNNING else ""
    return f"{before}{result.verdict}: {'; '.join(parts)}."


def result_of(result: NightlyResult, first_chart: str = "") -> Result:
    """Return what the report found, for those who show it."""
    record, states = result.record, Counter(check.state for check in result.checks)
    counts = [("runs", len(result.outcomes)), *((f"metrics {state}", states[state]) for state in states)]
    return Result(
        kind="nightly",
        title=f"{record.title} {record.name}",
        verdict=INTERRUPTED if record.state == RUNNING else result.verdict,
        headline=headline(result),
        key_figures=tuple(KeyFigure(name, str(count)) for name, count in counts),
        first_chart=first_chart,
    )


def _drifts(result: NightlyResult) -> str:
    """Return how many metrics are worse, but within the usual differences; empty without any."""
    since = [check.worse_since for check in result.checks if check.worse_since]
    if not since:
        return ""
    metrics = f"{units.plural(len(since), 'metric')} {'is' if len(since) == 1 else 'are'}"
    return f"{metrics} worse since {min(since)}, but within the usual differences"


def _loads_not_judged(result: NightlyResult) -> Iterator[str]:
    """Yield how many loads have no judged metric, and why."""
    states = Counter(check.state for check in result.checks)
    small = sum(bool(load.too_few) and not any(check.metric for check in load.checks) for load in result.loads)
    whys = ("no run is VALID", "a new history starts", "too few samples")
    for count, why in zip((states[NO_VALUE], states[NEW_ENVIRONMENT], small), whys, strict=True):
        if count:
            yield f"{units.plural(count, 'load')} not judged: {why}"


def _findings(result: NightlyResult) -> Iterator[str]:
    """Yield the findings, worst first."""
    load_checks = [(load, check) for load in result.loads for check in load.checks if check.state in _FINDING_STATES]
    load_checks.sort(key=lambda pair: _FINDING_STATES.index(pair[1].state))
    yield from (_finding(load, check) for load, check in load_checks if check.state == REGRESSED)
    for index, outcome in enumerate(result.outcomes):
        if outcome.state != OK or outcome.reasons:
            why = cell("; ".join(outcome.reasons) or "unknown reason")
            log = f"{quote(result.record.name)}/{quote(result.record.log_name(index))}"
            output = f"; [its output]({log})" if outcome.state == FAILED else ""
            yield f"{outcome.state}: {_run_text(outcome)}: {why}{output}"
    yield from (f"NO LABEL: {cell(label)}: the suite judges it, but no run has it" for label in result.missing_labels)
    yield from (f"STORAGE: {cell(problem)}" for problem in result.record.storage_problems)
    yield from (_finding(load, check) for load, check in load_checks if check.state != REGRESSED)
    date = result.record.name[: len("2026-11-21")]
    for load in result.loads:
        if load.others_count:  # runs of other nightly runs of the date
            more = f"{units.plural(load.others_count, 'more run')} of {date}, outside this nightly run,"
            count = "counts" if load.others_count == 1 else "count"
            why = "all runs of a date are one nightly run"
            yield f"ONE DATE: {cell(load.load.title)}: {more} {count} with it: {why}"


def _run_text(outcome: Outcome) -> str:
    """Return the load and round of a run, with a link to its report if there is one."""
    load, run = outcome.load, outcome.run
    title = cell(load.title) + (f", round {run.round_number}" if load.repeats > 1 else "")
    return f"{_run_link(outcome)} of {title}" if run.run else title


def _run_link(outcome: Outcome) -> str:
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
    if check.state in (NEW_ENVIRONMENT, NO_VALUE):
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
    rows = [
        [
            cell(check.label),
            check.metric.title,
            check.state,
            check.metric.mean_text(check.value),
            check.metric.mean_text(check.baseline),
            _with_unit(change_text(check.change_ratio), check.metric),
            _with_unit(units.percent_text(check.limit_ratio), check.metric),
            str(check.earlier_count),
            check.since or "",
        ]
        for check in checks
        if check.metric
    ]
    return table(_CHECK_HEADS, rows, 3) if rows else "No metric is judged: see the findings above and the runs below."


def _growth(load: LoadResult) -> str:
    """Return the table of what grew inside the system, with a line above it; empty without any."""
    if load.growth is None:
        return ""
    date = load.growth.date
    grown = cause_table(load.growth.causes, Heads(date, "tonight"))
    return f"What grew inside the system since the nightly run of {date}:\n\n{grown}"


def _profiles(load: LoadResult, outcomes: Sequence[Outcome]) -> str:
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
    """Yield the set-up changes and the commits since the last nightly run."""
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


def _run_cells(outcome: Outcome) -> list[str]:
    return [_run_link(outcome), cell(outcome.load.title), str(outcome.run.round_number)]


def _run_row(outcome: Outcome) -> list[str]:
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
