"""The Markdown report of a RunSummary."""

from __future__ import annotations

from harness import units
from harness.figures import LOAD, driven_labels
from harness.record import OPEN
from harness.render.setup import setup_lines
from harness.render.tables import GROUP_TITLES, cell, group_table, table
from harness.summary import RunSummary
from harness.telemetry import HOST, Usage
from harness.verdict import headline

NOTES_BEGIN = "<!-- notes:begin: what stands here is kept when the report is rendered again -->"
NOTES_END = "<!-- notes:end -->"


def _code_table(summary: RunSummary) -> str:
    driven = driven_labels(summary.groups)
    rows = [
        [cell(code.label), cell(code.code), str(code.sample_count), str(code.error_count)]
        for code in summary.codes
        if code.label in driven or code.error_count
    ]
    return table(("label", "code", "count", "errors"), rows)


def _error_table(summary: RunSummary) -> str:
    rows = [
        [
            cell(kind.label),
            cell(kind.code),
            cell(kind.cause),
            str(kind.count),
            f"{kind.first_s:.1f}",
            f"{kind.last_s:.1f}",
        ]
        for kind in summary.errors
    ]
    return table(("label", "code", "cause", "count", "first s", "last s"), rows)


def _usage_row(usage: Usage) -> list[str]:
    percent, megabytes = units.percent_text, units.mb_text
    return [
        cell("host, all processes" if usage.process == HOST else usage.process),
        percent(usage.cpu_cores_mean, 1),
        f"{percent(usage.cpu_cores_min, 1)}-{percent(usage.cpu_cores_max, 1)}",
        megabytes(usage.rss_bytes_mean),
        f"{megabytes(usage.rss_bytes_min)}-{megabytes(usage.rss_bytes_max)}",
        "" if usage.thread_count_max is None else str(usage.thread_count_max),
    ]


def _usage_table(summary: RunSummary) -> str:
    columns = ("process", "CPU % of one core", "range", "memory MB", "range", "peak of live threads")
    return table(columns, [_usage_row(usage) for usage in summary.usages])


def _law_line(summary: RunSummary) -> str:
    law = summary.littles_law
    if law is None:
        return ""
    if summary.run and summary.run.load.model == OPEN:
        # Users come and go within a second: how many were active cannot be read off the samples.
        return f"Little's law: throughput × (mean response + think time) = {law.busy_users:.1f} users busy on average."
    return (
        f"Little's law: throughput × (mean response + think time) = {law.busy_users:.1f} users busy; "
        f"{law.active_users:.1f} were active on average, {law.peak_users} at the peak "
        f"({units.percent_text(law.ratio, 1)} % accounted for)."
    )


def report(summary: RunSummary, notes: str) -> str:
    """Return the whole report as Markdown; `notes` is the text of the notes block."""
    import jinja2  # here, because a mere table needs no templates and is to be quick

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("harness.render", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, not HTML: `cell` escapes
    )
    load = summary.group(LOAD)
    return environment.get_template("report.md.j2").render(
        summary=summary,
        headline=cell(headline(summary.verdict)),
        run=summary.run,
        setup=setup_lines(summary.run) if summary.run else [],
        load_table=group_table(load) if load else "",
        other_groups=[(GROUP_TITLES[group.name], group_table(group)) for group in summary.groups if group.name != LOAD],
        code_table=_code_table(summary),
        error_table=_error_table(summary) if summary.errors else "",
        usage_table=_usage_table(summary) if summary.usages else "",
        law_line=_law_line(summary),
        dump_figures=summary.run.dump_figures if summary.run else (),
        notes_begin=NOTES_BEGIN,
        notes_end=NOTES_END,
        notes=notes,
    )


def notes_of(markdown: str) -> str | None:
    """Return what stands in a report's notes block; None when there is no such block."""
    begin = markdown.find(NOTES_BEGIN)
    end = markdown.rfind(NOTES_END)
    return markdown[begin + len(NOTES_BEGIN) : end].strip("\n") if 0 <= begin < end else None
