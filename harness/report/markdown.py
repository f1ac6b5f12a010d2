"""The Markdown report of a RunSummary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

from harness.base import units
from harness.cloudwatch.participants import idle_services
from harness.cloudwatch.queries import TITLE
from harness.judge.goals import is_beyond
from harness.judge.loads import rows_by_load, rows_by_tenant
from harness.judge.machines import is_generator
from harness.judge.result import Result
from harness.judge.summary import Observed, RunSummary
from harness.judge.tail import TailAccount
from harness.judge.verdict import DOUBTFUL, VALID, Verdict, further_reasons
from harness.judge.warnings import ReportPart, RunWarning, explained
from harness.metrics.figures import LOAD, Group, driven_labels
from harness.metrics.metric import MEDIAN, Table, percentiles, times_of
from harness.metrics.window import describe
from harness.plan.goal import Goal
from harness.plan.load import CLOSED
from harness.report import machine
from harness.report.account_table import account_table
from harness.report.charts.chart import Chart
from harness.report.charts.cloudwatch import cloud_notes, cloud_table
from harness.report.charts.run_charts import RunCharts
from harness.report.columns import COUNT, DEFAULT, ERROR_RATIO, Column, columns_of, whole_text
from harness.report.error_tables import error_table, failed_transactions
from harness.report.first_screen import first_screen
from harness.report.goal_tables import goal_table
from harness.report.key_figures import (
    KEY_COLUMNS,
    WARNINGS_MOST,
    first_error,
    is_tail,
    key_rows,
    key_warnings,
    left_out_text,
    result_of,
)
from harness.report.notes import NOTES_BEGIN, NOTES_END
from harness.report.profiles import database_text, profile_text, request_count
from harness.report.reference_section import parts as compared_parts
from harness.report.reference_section import problem_lines
from harness.report.run_tables import (
    amount_table,
    growth_notes,
    growth_table,
    job_tables,
    slowest_note,
    slowest_table,
    stream_table,
)
from harness.report.selection import change_text
from harness.report.services import services_text
from harness.report.setup import load_text, setup_lines
from harness.report.tables import (
    RATES_OF_LABELS,
    cell,
    first_byte_table,
    group_table,
    in_comment,
    page_tables,
    parts_of,
    rates_add_up,
    side_tables,
    table,
    title_of,
)
from harness.report.tail_text import slowest_bars, tail_sentence, tail_texts
from harness.report.template import filled
from harness.run.telemetry.processes import HOST, STOLEN, process_title
from harness.run.telemetry.table import Usage

# Only the main load usually has enough samples for these.
LOAD_PERCENTILES = percentiles(Table.REPORT)
# Warnings about these parts are printed below them.
_PRINTED_BELOW = (ReportPart.VERDICT, ReportPart.WINDOW)
_COLUMN_PARTS = {COUNT.key: ReportPart.COUNT, MEDIAN.key: ReportPart.MEDIAN, ERROR_RATIO.key: ReportPart.ERRORS}


class Footnotes:
    """The footnotes of one report, numbered in the order of their first mark.

    Warnings that only concern the verdict and the measured window have none: the report prints them below.
    """

    def __init__(self, found: Sequence[RunWarning]) -> None:
        parts = {warning: [part for part in warning.concerns if part not in _PRINTED_BELOW] for warning in found}
        ordered = sorted((warning for warning in found if parts[warning]), key=lambda warning: min(parts[warning]))
        self._numbered = tuple(enumerate(ordered, start=1))

    def mark(self, part: ReportPart, subject: str = "") -> str:
        """Return the marks of a value: the numbers of its footnotes, each after a blank."""
        numbers = (number for number, one in self._numbered if part in one.concerns and one.subject == subject)
        return "".join(f" [^{number}]" for number in numbers)

    @property
    def lines(self) -> list[str]:
        """The footnotes themselves, as Markdown."""
        return [f"[^{number}]: {cell(warning.text)}" for number, warning in self._numbered]


def _columns(load: Group, goal: Goal | None = None) -> list[Column]:
    """Return the columns of a load; with a goal for each label whether its average is within it, empty for TOTAL."""
    columns = [*columns_of(DEFAULT, [text for text in LOAD_PERCENTILES if text in load.total.percentiles_ms])]
    if goal and goal.each_average_ms is not None:
        title = f"average ≤ {units.ms_text(goal.each_average_ms)} ms"
        columns.append(
            Column(
                title,
                "each_average_ms",
                lambda label: float(is_beyond(label, goal)) if label in load.labels else None,
                lambda value: "" if value is None else "**missed**" if value else "met",
            )
        )
    return columns


def _load_table(summary: RunSummary, load: Group, notes: Footnotes) -> str:
    """Return the table of the load's labels, or of several loads, with TOTAL."""
    goal = summary.run.goal if summary.run and not summary.loads else None
    load = rows_by_load(summary.loads, load) if summary.loads else load
    slow = [metric for metric in times_of(Table.REPORT) if is_tail(metric, load.total.sample_count)]
    parts = _COLUMN_PARTS | {metric.key: ReportPart.TAIL for metric in slow}
    columns = [
        replace(column, title=column.title + notes.mark(parts[column.key])) if column.key in parts else column
        for column in _columns(load, goal)
    ]
    shown = page_tables(parts_of(load)[0], columns)
    return shown if rates_add_up(load) else f"{shown}\n\n{RATES_OF_LABELS}"


def _transaction_table(load: Group, goal: Goal | None) -> str:
    """Return the table of the load's transactions; empty without any, and when the load has nothing else."""
    return "".join(page_tables(part, _columns(load, goal)) for part in parts_of(load)[1:])


def _other_tables(summary: RunSummary) -> list[tuple[str, str]]:
    """Return title and table of the load of the whole run, if it has one, and of the groups beside the load."""
    titled_tables = []
    if summary.whole:
        columns = _columns(summary.whole)
        titled_tables += [
            (f"{title_of(part)}, the whole run", f"{page_tables(part, columns)}\n\n{RATES_OF_LABELS}")
            for part in parts_of(summary.whole)
        ]
    others = (part for group in summary.groups if group.name != LOAD for part in parts_of(group))
    return titled_tables + [(title_of(part), side_tables(part)) for part in others]


def _tables_of_loads(summary: RunSummary, goal: Goal | None) -> list[tuple[str, str]]:
    """Return title and table of the labels of each load of a run with several."""
    titled_tables = []
    total, run = summary.group(LOAD), summary.run
    if run and total and (tenants := rows_by_tenant(summary.loads, run.load.loads or (), total)):
        titled_tables.append(("Tenants", page_tables(tenants, _columns(total))))
    for load in summary.loads:
        name = cell(load.name)
        if load.group is None:
            titled_tables.append((f"Load of {name}", "No sample of this load ended in the measurement window."))
            continue
        columns = _columns(load.group, goal)
        tables = [(f"{title_of(part)} of {name}", page_tables(part, columns)) for part in parts_of(load.group)]
        if load.curve_text:
            tables[0] = (tables[0][0], f"{tables[0][1]}\n\n{load.curve_text}")
        titled_tables += tables
    return titled_tables


def _setup_lines(summary: RunSummary, notes: Footnotes) -> list[tuple[str, str]]:
    marks = {"load": notes.mark(ReportPart.LOAD), "system": notes.mark(ReportPart.SYSTEM)}
    lines = setup_lines(summary.run) if summary.run else []
    return [(cell(name), cell(value) + marks.get(name, "")) for name, value in lines]


def _code_table(summary: RunSummary, notes: Footnotes) -> str:
    groups = (*summary.groups, *([summary.whole] if summary.whole else []))
    driven = driven_labels(groups)
    rows = []
    for code in summary.codes:
        if code.is_transaction and not any(group.counts_transactions for group in groups):
            continue  # its requests have codes of their own
        if code.label in driven or code.error_count:
            is_success = code.label in driven and code.sample_count > code.error_count
            mark = notes.mark(ReportPart.CODE, code.code) if is_success else ""
            rows.append([cell(code.label), cell(code.code) + mark, str(code.sample_count), str(code.error_count)])
    return table(("label", "code", "count", "errors"), rows, text_columns=2) if rows else ""


def _usage_part(process: str) -> ReportPart | None:
    if process.partition(" ")[0] in (HOST, STOLEN):
        return ReportPart.HOST
    return ReportPart.GENERATOR if is_generator(process) else None


def _usage_row(usage: Usage, notes: Footnotes) -> list[str]:
    part = _usage_part(usage.process)
    name = cell(process_title(usage.process)) + (notes.mark(part) if part else "")
    cpus = [units.percent_text(one, 1) for one in (usage.cpu_cores_mean, usage.cpu_cores_min, usage.cpu_cores_max)]
    sizes = [units.mb_text(one) for one in (usage.rss_bytes_mean, usage.rss_bytes_min, usage.rss_bytes_max)]
    ranges = [text for mean, low, high in (cpus, sizes) for text in (mean, f"{low}-{high}")]
    return [name, *ranges, whole_text(usage.thread_count_max)]


def _usage_tables(observed: Observed, notes: Footnotes) -> str:
    columns = ("process", "CPU % of one core", "range", "memory MB", "range", "peak of live threads")
    rows = [_usage_row(usage, notes) for usage in observed.usages]
    return "\n\n".join(
        filter(None, (table(columns, rows) if rows else "", machine.machine_table(observed.machine_figures)))
    )


def _exception_table(summary: RunSummary) -> str:
    rows = []
    for kind in summary.observed.exceptions:
        caused = f"caused by {kind.cause}" if kind.cause else ""
        what = ": ".join(filter(None, (", ".join(filter(None, (kind.class_name, caused))), kind.example)))
        rows.append([cell(kind.log), cell(what), str(kind.count), str(kind.first_line)])
    columns = ("log", "exception, innermost cause: message of the first", "count", "first line")
    return table(columns, rows, text_columns=2) if rows else ""


def _law_line(summary: RunSummary, notes: Footnotes) -> str:
    law = summary.littles_law
    if law is None:
        return ""
    law_text = "Little's law in the measurement window: throughput × (mean response + think time)"
    if summary.run and summary.run.load.model != CLOSED:
        # Users come and go within a second: the samples do not show how many were active.
        return f"{law_text} = {law.busy_users:.1f} users busy on average."
    return (
        f"{law_text} = {law.busy_users:.1f} users busy; {law.active_users:.1f} were active on average, "
        f"{law.peak_users} at the peak ({units.percent_text(law.ratio, 1)} % accounted for)."
        f"{notes.mark(ReportPart.LAW)}"
    )


def image(chart: Chart, folder: str) -> str:
    """Return the Markdown of a chart whose file is in `folder`."""
    return f"![{cell(chart.alternative)}]({quote(folder)}/{chart.name})"


def report(summary: RunSummary, charts: RunCharts, notes: str, folder: str) -> str:
    """Return the whole report as Markdown; `notes` is the text of the notes block, `folder` contains the charts."""
    load, whole, run = summary.group(LOAD), summary.whole, summary.run
    observed, window = summary.observed, summary.window
    footnotes, first = Footnotes(summary.warnings), first_chart(charts)
    return filled(
        "harness.report",
        "report.md.j2",
        summary=summary,
        observed=observed,
        run=run,
        account_table=account_table(summary.account),
        first_screen=_first_screen(summary, image(first, folder) if first else ""),
        goal_table=goal_table(summary.verdict),
        job_tables=job_tables(summary.jobs),
        setup=_setup_lines(summary, footnotes),
        command=in_comment(summary.run.command) if summary.run else "",
        change_line=change_text(whole.total, load.total) if whole and load else "",
        thirds_line=summary.thirds.text if summary.thirds else "",
        corrected_line=summary.corrected.text if summary.corrected else "",
        load_table=_load_table(summary, load, footnotes) if load else "",
        first_byte_table=first_byte_table(load) if load else "",
        tables_of_loads=_tables_of_loads(summary, run.goal if run else None),
        transaction_table=_transaction_table(load, run.goal if run else None) if load and not summary.loads else "",
        counts_transactions=load is not None and all(label.is_transaction for label in load.labels),
        law_line=_law_line(summary, footnotes),
        generator_table=machine.generator_table(summary.generators) if summary.generators else "",
        generators_mark=footnotes.mark(ReportPart.GENERATORS),
        other_tables=_other_tables(summary),
        compared=compared_parts(summary.compared, summary.source),
        not_compared=problem_lines(summary.compared),
        code_table=_code_table(summary, footnotes),
        error_table=error_table(summary, folder) if summary.errors else "",
        failed_transactions=failed_transactions(summary),
        **{name: [image(one, folder) for one in found if one is not first] for name, found in charts.items()},
        is_cut=window.length_s < window.run_s,
        **_observed_values(summary, footnotes, folder),
        footnotes=footnotes.lines,
        notes_begin=NOTES_BEGIN,
        notes_end=NOTES_END,
        notes=notes,
    )


def first_chart(charts: RunCharts) -> Chart | None:
    """Return the chart of the first screen; None without any."""
    return next((chart for found in charts.values() for chart in found), None)


def _first_screen(summary: RunSummary, chart: str) -> str:
    """Return the first screen: goals, the first chart, the key tables, the first error and the key warnings."""
    verdict, warnings = summary.verdict, key_warnings(summary)
    result = summary.result or result_of(summary)
    tables = [(title_of(part), group_table(part, KEY_COLUMNS)) for part in key_rows(summary)]
    titled = [text if number == 0 else f"**{title}**\n\n{text}" for number, (title, text) in enumerate(tables)]
    none = "No sample of the load ended in the measurement window." if summary.whole else "No sample of the load."
    left_out, run, window = left_out_text(summary), summary.run, summary.window
    window_line = describe(window) if window.run_s else ""
    lines = (
        *(titled or [none]),
        f"{left_out}: see the full tables." if left_out else "",
        " ".join(filter(None, (f"Load: {load_text(run.load)}." if run else "", window_line))),
        cell(first_error(summary)),
        *_tail_lines(summary.observed.tails),
    )
    more = len(warnings) - WARNINGS_MOST
    weakened_by = [*further_reasons(verdict, summary.warnings), *(one.text for one in warnings[:WARNINGS_MOST])]
    if more > 0:
        weakened_by.append(f"{units.plural(more, 'more warning')}: see Warnings.")
    if verdict.state == DOUBTFUL:
        weakened_by.append(explained(summary.warnings))
    return first_screen(
        result,
        goals=_goals(result, verdict),
        chart=chart,
        table="\n\n".join(filter(None, lines)),
        weakened_by=[cell(line) for line in weakened_by if line],
    )


def _tail_lines(tails: Sequence[TailAccount]) -> list[str]:
    """Return why the slowest label is slow: a sentence, and its slowest requests as bars."""
    return [cell(tail_sentence(tails[0])), slowest_bars(tails[0])] if tails else []


def _goals(result: Result, verdict: Verdict) -> str:
    """Return the goals below the answer: a sentence unless the answer has it, and a table if one is missed."""
    sentence = "" if result.is_missed and verdict.state == VALID else cell(result.goals)
    return "\n\n".join(filter(None, (sentence, goal_table(verdict) if result.is_missed else "")))


def _observed_values(summary: RunSummary, footnotes: Footnotes, folder: str) -> dict[str, object]:
    """Return what the template needs of the processes and machines of a run, and of what was not recorded of them."""
    observed, window, run, load = summary.observed, summary.window, summary.run, summary.group(LOAD)
    unknown = {cell(recorder): _cells(reasons) for recorder, reasons in run.unknown.items()} if run else {}
    unprofiled = run.unknown.get("profile", ()) if run else ()
    return {
        "dump_figures": _cells(run.dump_figures) if run else (),
        "usage_table": _usage_tables(observed, footnotes),
        "heap_table": machine.heap_table(observed.heap_uses) if observed.heap_uses else "",
        "recorded_table": machine.recorded_table(observed.recorded),
        "growth_table": growth_table(observed.growths) if observed.growths else "",
        "growth_notes": growth_notes(observed.growths, window.length_s, is_soak=run is not None and run.is_soak),
        "live_heaps": [machine.live_heap_text(heap, window) for heap in observed.live_heaps],
        "profiles": [profile_text(profile, folder) for profile in observed.profiles],
        "heap_unknown": unknown.pop("heap", ()),
        "histogram_unknown": unknown.pop("histograms", ()),
        "profile_unknown": unknown.pop("profile", ()),
        "not_recorded": unknown,
        "tails": tail_texts(observed.tails, load.counted if load else (), observed.profiles, unprofiled),
        "databases": [database_text(used, request_count(summary)) for used in observed.databases],
        "own_metrics": [machine.own_metrics_text(found) for found in observed.own_metrics],
        "stream_table": stream_table(observed.streams),
        "amount_table": amount_table(observed.amounts),
        "slowest_table": slowest_table(observed.slowest) if observed.slowest else "",
        "slowest_note": slowest_note(observed.slowest),
        "cloud_table": cloud_table(observed.cloudwatch, idle_services(observed.services))
        if observed.cloudwatch
        else "",
        "cloud_notes": cloud_notes(observed.cloudwatch, summary.source) if observed.cloudwatch else [],
        "cloud_title": _cloud_title(summary),
        "services_text": services_text(observed.services, summary.source),
        "exception_table": _exception_table(summary),
        "read_logs": [cell(name) for name in (run.exception_logs if run else ()) if name not in observed.missing_logs],
        "missing_logs": [cell(name) for name in observed.missing_logs],
    }


def _cells(found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(cell(name), cell(why)) for name, why in found]


def _cloud_title(summary: RunSummary) -> str:
    """Return the source of the metrics of remote machines; empty without any."""
    found, run = summary.observed.cloudwatch, summary.run
    resources = found.resources if found else run.cloudwatch.resources if run and run.cloudwatch else ()
    return TITLE if resources else ""
