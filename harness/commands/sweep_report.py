"""`lth sweep`: write the report of one sweep, or of several side by side."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.base import units
from harness.base.errors import EXIT_INVALID, EXIT_OK, UsageError
from harness.base.log import emit, print_page, print_text
from harness.base.project import current_project
from harness.cli.options import LIMITS, take, take_argument
from harness.plan.goal import Goal, option_metrics
from harness.run import kinds
from harness.site.html_option import write_html
from harness.sweep.analysis import analyse
from harness.sweep.export import sweeps_csv, sweeps_data, sweeps_json
from harness.sweep.labels import of_label
from harness.sweep.overlay import printed_sweeps_screen
from harness.sweep.pairs import compare_sweeps
from harness.sweep.render import printed_sweep
from harness.sweep.sources import find_sweeps, printed_sweeps, write_sweep_report, write_sweeps

MARKDOWN, CSV, JSON = "markdown", "csv", "json"
_EPILOG = """\
examples:
  lth sweeps killbill-stripe/sweep-07                      writes its report and charts again
  lth sweeps killbill-stripe/sweep-07 --html               also as one HTML file, sweep-07.html
  lth sweeps killbill-stripe/sweep-07 --p90 500 --errors 1%    how many users meet another goal
  lth sweeps 'killbill-stripe/run-03_*'                    separate runs; each number of users is a level
  lth sweeps lb/sweep-01 lb/sweep-02 direct=lb/sweep-03    one report; TITLE=NAME names a line
  lth sweeps ours/sweep-02 published.csv                   next to published figures, with the differences
  lth sweeps folio-workflow/sweep-01 --label 'Check In'    one transaction or request instead of TOTAL
  lth sweeps report.md#2                                   the second table of levels in a Markdown file
  lth sweeps killbill-stripe/sweep-07 --format csv > levels.csv

A CSV of levels starts with a header: users, and any of rate_per_s, average_ms, p50_ms, p75_ms, p90_ms, p95_ms,
error_ratio, sample_count. Lines that start with # are comments. Percentages in a Markdown table are checked against its
numbers; the report lists those that are wrong.

The report of one sweep is written next to it, any other to reports/sweeps/. With --format it is printed instead.

exit codes: 0 success, also when no level meets the goal; 2 wrong use; 3 no level could be read.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `sweep`."""
    parser.description = "Write the report of one sweep, or of several sweeps side by side."
    parser.epilog = _EPILOG
    take_argument(parser, "sweep", "+")
    take(parser, f"pairs {LIMITS} label format/sweep html junit output reports")


def run(options: argparse.Namespace) -> int:
    """Write or print the report and return the exit code."""
    if options.html and options.format:
        raise UsageError("sweep: --format writes no report, so there is none for --html", "leave one of them out")
    stored_sweeps = find_sweeps(options.sweep, options.reports)
    if options.label is not None:
        stored_sweeps = [replace(one, sweep=of_label(one.sweep, options.label)) for one in stored_sweeps]
    wanted = _goal(options)
    sweeps = [one.sweep for one in stored_sweeps]
    goals = [_joined(sweep.goal, wanted) for sweep in sweeps]
    analyses = [analyse(sweep.levels, goal) for sweep, goal in zip(sweeps, goals, strict=True)]
    compared = len(sweeps) == 2 or options.pairs
    comparisons = [compare_sweeps(sweeps[0], other) for other in sweeps[1:]] if compared else []
    own = sweeps[0].record if len(sweeps) == 1 and options.label is None else None
    # The report of a sweep has the same bytes for all its names.
    command = _command(options, [own.id] if own else [_relative(name) for name in options.sweep])
    options.junit.add(sweeps_data(sweeps, analyses, comparisons))
    if options.format == CSV:
        emit(sweeps_csv(sweeps))
    elif options.format == JSON:
        emit(sweeps_json(sweeps, analyses, comparisons))
    elif options.format == MARKDOWN:
        print_page(printed_sweeps(stored_sweeps, analyses, comparisons, command), end="")
    else:
        report = stored_sweeps[0].report if own and options.output is None else None
        if report is not None:
            write_sweep_report(report, command, goals[0])
        else:
            page = f"{_slug([sweep.name for sweep in sweeps])}.md"
            report = options.output or options.reports / kinds.SWEEPS_FOLDER / page
            write_sweeps(stored_sweeps, analyses, comparisons, report, command)
        print_text(os.path.relpath(report))
        if options.html:
            write_html(report)
        first = printed_sweep(sweeps[0], analyses[0]) if len(sweeps) == 1 else ""
        print_text(first or printed_sweeps_screen(sweeps, analyses, comparisons))
    sys.stdout.flush()
    return EXIT_OK if any(sweep.levels for sweep in sweeps) else EXIT_INVALID


def _goal(options: argparse.Namespace) -> Goal:
    """Return the goal in the options."""
    limits: dict[str, float] = {}
    for metric in option_metrics():
        text = getattr(options, metric.name)
        if text is not None and metric.is_share:
            limits[metric.key] = units.parse_percent_ratio(text, f"--{metric.name}")
        elif text is not None:
            limits[metric.key] = units.parse_whole_number(text, f"--{metric.name}", 1, 10_000_000)
    return Goal(**limits)


def _joined(own: Goal | None, wanted: Goal) -> Goal | None:
    """Return the sweep's own goal with the limits of another; None without any goal."""
    goal = (own or Goal()).with_limits(**wanted.limits)
    return None if goal == Goal() else goal


def _command(options: argparse.Namespace, names: Sequence[str]) -> str:
    """Return the command that writes the same report, without absolute paths."""
    command = ["lth", "sweeps", *names]
    command += ["--compare"] if options.pairs else []
    command += ["--label", options.label] if options.label is not None else []
    for name in (metric.name for metric in option_metrics()):
        value = getattr(options, name)
        command += [f"--{name}", value] if value else []
    command += ["--output", _relative(str(options.output))] if options.output else []
    return shlex.join(command)


def _relative(name: str) -> str:
    return os.path.relpath(name, current_project().folder) if Path(name).is_absolute() else name


def _slug(names: Sequence[str]) -> str:
    return "-".join(re.sub(r"[^\w.]+", "-", name).strip("-.") for name in names)[:100] or "sweeps"
