"""`lth history`: print a metric of a plan over time."""

from __future__ import annotations

import argparse
import csv
import io
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.base.config import did_you_mean
from harness.base.errors import EXIT_OK, UsageError
from harness.base.log import emit, print_text
from harness.base.project import current_project
from harness.base.units import parse_whole_number, plural
from harness.cli.options import take, take_argument
from harness.history.acceptance import ACCEPTED, read_acceptances
from harness.history.catalogue import Entry, runs_of
from harness.history.change_points import ChangePoint
from harness.history.files import read_catalogue
from harness.history.render import history_chart, history_report, history_screen, host_text, result_of
from harness.history.series import History, HistoryLine, history, labels_of
from harness.metrics.metric import ERRORS, THROUGHPUT, Metric, compared_metrics, parse_metric
from harness.report.charts.chart import Chart
from harness.report.export import json_text
from harness.report.pages import write_page
from harness.report.results import KEY, write_result
from harness.report.setup import load_text
from harness.run import kinds
from harness.run.directory import write_whole

MARKDOWN, CSV, JSON, OTAVA = "markdown", "csv", "json", "otava"
_MOST = 1_000_000
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


_EPILOG = """\
examples:
  lth history                                                     TOTAL of every run of the project's plan
  lth history --plan killbill-stripe --users 50 --metric p90 --last 20
  lth history --plan killbill-stripe --label 'Authorize Payment' --format csv > authorize.csv
  lth history --plan killbill-stripe --format otava > killbill.csv                for Apache Otava
  lth history reports/nightly --plan killbill-stripe --users 10                   the nightly runs
  lth history --plan killbill-stripe --save                     history-TOTAL-average.md in the plan's reports

A terminal gets the answer and the newest runs, a pipe the whole report. The report lists lasting changes with their
size; record an intended one with lth accept. Runs with another load, profile or machine have a table of their own.
Runs that are not VALID are listed but not used.

exit codes: 0 success; 2 wrong use.
"""
FORMAT_VERSION = 1
# The columns of metrics: throughput, times, errors.
_METRICS = (THROUGHPUT, *(metric for metric in compared_metrics() if metric not in (THROUGHPUT, ERRORS)), ERRORS)
_CSV_COLUMNS = (
    "line", "load", "profile", "host", "target", "run", "verdict", "started_at", "git_commit", "sample_count",
    *(metric.key for metric in _METRICS), "metric", "value", "median_before", "change_ratio", "change_point_ratio",
    "accepted",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `history`."""
    parser.description = "Print a metric of a plan's runs, oldest first, with the change against the runs before."
    parser.epilog = _EPILOG
    take(parser, "reports plan/shown label/shown metric/shown users/filter last format/history")
    take(parser.add_mutually_exclusive_group(), "output save")
    take_argument(parser, "reports", "?")


def run(options: argparse.Namespace) -> int:
    """Print or write the history and return the exit code."""
    _take_plan(options)
    metric = parse_metric(options.metric, "--metric")
    last = parse_whole_number(options.last, "--last", 1, _MOST) if options.last is not None else None
    runs = _runs(options)
    labels = labels_of(runs)
    if options.label not in labels:
        raise UsageError(
            f"--label {options.label}: no run of {options.plan} has it",
            f"{did_you_mean(options.label, labels)}there are: {', '.join(labels)}",
        )
    plan_history = history(
        runs, options.plan, options.label, metric, last, read_acceptances(current_project().folder / ACCEPTED)
    )
    output = _output(options, metric)
    charts = _charts(plan_history, output.stem) if output else [None] * len(plan_history.lines)
    form = options.format or MARKDOWN
    if form == MARKDOWN:
        text = history_report(plan_history, charts, _runs_folder(options, output), _command(options))
    elif form == CSV:
        text = history_csv(plan_history)
    elif form == OTAVA:
        text = _for_otava(plan_history)
    else:
        text = json_text(history_json(plan_history, _command(options)))
    if output is None and options.format is None and sys.stdout.isatty():
        print_text(f"{history_screen(plan_history)}\n\nThe page with charts: {_command(options)} --save")
        return EXIT_OK
    if output is None:
        emit(text)
        return EXIT_OK
    if not output.parent.is_dir():
        raise UsageError(f"{output}: its folder does not exist", "create it, or pass another path")
    if form != MARKDOWN:
        write_whole(output, text)
    else:
        write_page(output, lambda _: text)
        write_result(
            output, history_json(plan_history, _command(options), next((one.name for one in charts if one), ""))
        )
        _write_charts(output, [chart for chart in charts if chart])
    print_text(f"{os.path.relpath(output)}: {plural(sum(len(line.points) for line in plan_history.lines), 'run')}")
    return EXIT_OK


def _take_plan(options: argparse.Namespace) -> None:
    """Take the name of a plan, as `list` does, where there is no such folder."""
    name, known = os.path.relpath(options.reports), current_project().reports
    if not options.reports.exists() and name == options.reports.name and (known / name).is_dir():
        options.reports, options.plan = known, name


def _for_otava(plan_history: History) -> str:
    """Return the history with the newest run as CSV: Otava reads one series."""
    if not plan_history.lines:
        raise UsageError(
            f"{plan_history.plan} has no runs with metrics of {plan_history.label}",
            "run the plan, or pass another label",
        )
    more = len(plan_history.lines) - 1
    if more:
        print_text(f"{plural(more, 'other set')} of conditions left out: --users selects one", file=sys.stderr)
    return otava_csv(plan_history.lines[0])


def _runs(options: argparse.Namespace) -> list[Entry]:
    """Return the runs of the plan with the requested number of users."""
    entries = read_catalogue(options.reports).entries
    runs = runs_of(entries, options.plan)
    if not runs:
        plans = sorted({entry.plan for entry in entries})
        raise UsageError(
            f"--plan {options.plan}: has no runs in {os.path.relpath(options.reports)}",
            f"{did_you_mean(options.plan, plans)}there are: {', '.join(plans) or 'none'}",
        )
    if options.users is None:
        return runs
    users = parse_whole_number(options.users, "--users", 1, _MOST)
    known = sorted({entry.run.load.users for entry in runs if entry.run and entry.run.load.users})
    if users not in known:
        raise UsageError(
            f"--users {users}: {options.plan} has no such run",
            f"there are runs of: {', '.join(map(str, known)) or 'none'}",
        )
    return [entry for entry in runs if entry.run and entry.run.load.users == users]


def _output(options: argparse.Namespace, metric: Metric) -> Path | None:
    """Return the file to write; None when the history is printed."""
    if not options.save:
        output: Path | None = options.output
        return output
    label = _NOT_IN_NAMES.sub("_", options.label)
    suffix = {MARKDOWN: "md", OTAVA: "otava.csv"}.get(options.format or MARKDOWN, options.format)
    folder: Path = options.reports / options.plan
    return folder / f"{kinds.HISTORY.named(label)}-{metric.name}.{suffix}"


def _runs_folder(options: argparse.Namespace, output: Path | None) -> str | None:
    """Return the path of the plan's reports relative to the written file; None without a file."""
    if output is None:
        return None
    folder = os.path.relpath(options.reports / options.plan, output.parent)
    return "" if folder == "." else f"{folder}/"


def _charts(plan_history: History, stem: str) -> list[Chart | None]:
    """Return the chart of each set of conditions; a single run has none."""
    drawn = [line for line in plan_history.lines if len(line.valid) > 1]
    names = iter([f"{stem}.svg"] if len(drawn) == 1 else [f"{stem}-{index + 1}.svg" for index in range(len(drawn))])
    return [
        Chart(next(names), history_chart(line, plan_history.label, plan_history.metric))
        if len(line.valid) > 1
        else None
        for line in plan_history.lines
    ]


def _write_charts(output: Path, charts: Sequence[Chart]) -> None:
    for path in output.parent.glob("*.svg"):
        if re.fullmatch(rf"{re.escape(output.stem)}(-\d+)?\.svg", path.name):
            path.unlink()  # left by an earlier history with more charts
    for chart in charts:
        write_whole(output.with_name(chart.name), chart.svg)


def _command(options: argparse.Namespace) -> str:
    """Return the command that prints the same history."""
    command = ["lth", "history", "--plan", options.plan]
    for name, default in (("label", "TOTAL"), ("metric", "average"), ("users", None), ("last", None)):
        value = getattr(options, name)
        if value != default:
            command += [f"--{name}", value]
    # The command is printed in an HTML comment, which a label must not close.
    return shlex.join(command).replace("-->", "->")


def rows_of(history: History) -> list[dict[str, Any]]:
    """Return plain data per run, oldest first, for each set of conditions; None for unknown values."""
    rows = []
    for number, line in enumerate(history.lines, start=1):
        conditions = line.conditions
        changes = {line.valid[change.index].run: change for change in line.changes}
        reasons = {line.valid[index].run: one.reason for index, one in line.accepted}
        for point in line.points:
            figures = point.figures
            known = (
                number, load_text(conditions.load), conditions.profile, host_text(conditions), conditions.target,
                point.run, point.verdict, point.started_at, point.git_commit,
                figures.sample_count if figures else None,
                *(metric.of(figures) if figures else None for metric in _METRICS),
                history.metric.id, point.value, point.median_before, point.change_ratio,
                _size(changes.get(point.run), history.metric), reasons.get(point.run),
            )  # fmt: skip
            rows.append(dict(zip(_CSV_COLUMNS, known, strict=True)))
    return rows


def _size(change: ChangePoint | None, metric: Metric) -> float | None:
    if change is None:
        return None
    return change.after - change.before if metric.is_share else change.ratio


def history_csv(history: History) -> str:
    """Return the rows as CSV: UTF-8, LF, quoted according to RFC 4180; unrounded numbers."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows_of(history))
    return text.getvalue()


def history_json(history: History, command: str, first_chart: str = "") -> dict[str, Any]:
    """Return the rows as plain data, with the result and the excluded runs; `command` prints the history again."""
    return {
        "format_version": FORMAT_VERSION,
        "command": command,
        KEY: result_of(history, first_chart),
        "plan": history.plan,
        "label": history.label,
        "metric": history.metric.id,
        "runs": rows_of(history),
        "left_out": [{"run": run, "reason": why} for run, why in history.left_out],
    }


def otava_csv(line: HistoryLine) -> str:
    """Return the valid runs of a line as CSV for Apache Otava: time, run, commit and metrics.

    Otava accepts only numbers: a metric that some run lacks has no column.
    """
    points = line.valid
    figures = {
        metric.key: [metric.of(point.figures) if point.figures else None for point in points]
        for metric in compared_metrics()
    }
    columns = {name: values for name, values in figures.items() if None not in values}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time", "run", "commit", *columns])
    for index, point in enumerate(points):
        known = [values[index] for values in columns.values()]
        writer.writerow([point.started_at, point.run, point.git_commit or "", *known])
    return text.getvalue()
