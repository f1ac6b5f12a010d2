"""`lth table`: print the statistics of JTL files as a table, CSV or JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.base.errors import EXIT_INVALID, EXIT_OK, EXIT_USAGE, UsageError
from harness.base.log import emit, print_page, print_text
from harness.base.plain_text import one_line
from harness.base.standard_streams import is_reader_gone
from harness.cli.options import take, take_argument
from harness.jtl.inputs import resolve
from harness.jtl.tools.summary import NoSamplesError, ToolSummary
from harness.metrics.figures import PERCENTILES, SUCCESSFUL
from harness.metrics.window import parse_window
from harness.report.columns import (
    ALWAYS_SHOWN,
    CLASSIC,
    DEFAULT,
    WIDE,
    Column,
    columns_of,
    parse_percentiles,
    parse_sort,
    rising,
)
from harness.report.jtls import WHOLE, Counting, run_of, summary_of_jtls
from harness.report.selection import Selection, View, parse_pattern
from harness.report.tables import cell, classic_table, group_table, parts_of, titled_tables
from harness.report.tool_summaries import differences, summary_object, summary_table, without_summaries
from harness.run.names import as_samples

if TYPE_CHECKING:
    from harness.judge.summary import RunSummary
    from harness.plan.goal import Goal

MARKDOWN, CSV, JSON, JSON_LINES = "markdown", "csv", "json", "jsonl"
FORMATS = (MARKDOWN, CSV, JSON, JSON_LINES)
_EPILOG = """\
examples:
  lth table samples.jtl                                   all labels; a terminal marks the worst cells
  lth table gen1.jtl gen2.jtl                             the files of two load generators, merged into one run
  lth table -1                                            the newest run
  lth table --each reports/*/*/samples.jtl                one table per file
  lth table samples.jtl --window steady                   without ramp-up, warm-up and tail; prints what that changed
  lth table samples.jtl --window 30s..2m                  from second 30 to second 120 of the run
  lth table samples.jtl --sort p99 --layout wide                     the label with the highest p99 first
  lth table samples.jtl --label 'Payment$' --percentiles 95,99,99.9
  lth table samples.jtl --only TOTAL --layout classic                one row, in the layout of the 2015 reports
  lth table samples.jtl --format json | jq .groups[0].total.percentiles_ms
  lth table samples.jtl --format csv > figures.csv
  lth table s3://bucket/prefix/…/samples.jtl.zst                     streamed from S3
  lth table samples.jtl --goal 'p95<500, errors<1%'       exit code 1 if a goal is missed
  lth table samples.jtl --sure                            exit code 3 unless the verdict is VALID

Times are in milliseconds. Percentiles are exact and follow JMeter's Aggregate Report. setUp and tearDown thread groups
have separate tables; the window applies to the main load only. Warnings are printed below the table, or on standard
error with csv, json and jsonl. lth help format defines every column and key.

exit codes: 0 success; 1 with --goal: one is missed; 2 wrong use or an unreadable file (with --each the other files are
still printed); 3 with --goal: the results are INVALID, with --sure also: a verdict is not VALID.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `table`."""
    parser.description = "Print the statistics of JTL files, per label and in total. Several files are one run."
    parser.epilog = _EPILOG
    take_argument(parser, "input", "+")
    take(parser, "endpoint-url")
    reading = parser.add_argument_group("input options")
    take(reading, "each window percentiles transactions successful columns strict")
    output = parser.add_argument_group("output options")
    take(output, "layout format/table sort label only goal/results sure junit")


# Printed for a run's own samples, because the report of the run starts with other values.
_OF_THE_WHOLE_RUN = (
    "The table covers the whole run, with once-per-user steps in a separate table, like “Load, the whole run” in the "
    "report. “Load” in the report covers only the steady state: --window steady."
)


def run(options: argparse.Namespace) -> int:
    """Print the tables and return the exit code."""
    requested = parse_percentiles(options.percentiles) if options.percentiles is not None else None
    counting = Counting(
        window=parse_window(options.window),
        percentiles=rising((*PERCENTILES, *(requested or ()))),
        with_transactions=options.transactions,
        columns=tuple(name.strip() for name in options.columns.split(",")) if options.columns is not None else None,
        strict=options.strict,
        with_timeline=False,
        goal=_goal_of(options),
        successful=options.successful,
    )
    selection = Selection(
        pattern=parse_pattern(options.label) if options.label is not None else None,
        only=options.only,
        order=parse_sort(options.sort, requested) if options.sort is not None else None,
    )
    printer = _Printer(options.format, options.layout, requested, is_each=options.each)
    code = EXIT_OK
    given = [path for name in options.input for path in as_samples(name)]
    for names in [[name] for name in given] if options.each else [given]:
        try:
            inputs = resolve(names, options.endpoint_url)
            for run in [[given] for given in inputs] if options.each else [inputs]:
                record = run_of(run)
                samples, tools = without_summaries(run)
                try:
                    summary = summary_of_jtls(samples, replace(counting, run=record))
                except NoSamplesError as error:
                    printer.add_summary(error.name, error.summary)
                    code = code or (
                        EXIT_INVALID if options.sure or options.goal else EXIT_OK
                    )  # nobody judged what it is made of
                    continue
                view = selection.view(summary, run[0].name if options.each else summary.source)
                own_remarks = (*_unsuccessful(options, summary), *_goals(options, summary))
                view = replace(view, remarks=(*view.remarks, *differences(tools, summary), *own_remarks))
                is_whole = record is not None and counting.window == WHOLE
                printer.add(replace(view, remarks=(_OF_THE_WHOLE_RUN, *view.remarks)) if is_whole else view)
                own = summary.verdict.exit_code_if(sure=options.sure) if options.sure or options.goal else EXIT_OK
                options.junit.add_summary(view.source, summary, own)
                code = code or own
                if is_reader_gone():
                    return code
        except UsageError as error:
            if not options.each:
                raise
            print_text(f"lth: {error}", file=sys.stderr)
            code = EXIT_USAGE
    printer.end()
    return code


def _goal_of(options: argparse.Namespace) -> Goal | None:
    if options.goal is None:
        return None
    from harness.plan.goal_input import parse_goal  # deferred: few tables have a goal

    return parse_goal(options.goal, "--goal")


def _unsuccessful(options: argparse.Namespace, summary: RunSummary) -> list[str]:
    """Return why a table of successful samples, which was asked for, is missing."""
    is_there = not options.successful or summary.group(SUCCESSFUL)
    return [] if is_there else ["No sample of the load was successful."]


def _goals(options: argparse.Namespace, summary: RunSummary) -> list[str]:
    """Return a sentence for each goal that was given."""
    if options.goal is None:
        return []
    met, missed = summary.verdict.goals_met, summary.verdict.goals_missed
    texts = [*(f"Goal missed: {text}." for text in missed), *(f"Goal met: {text}." for text in met)]
    return texts or [f"No goal was judged: the results are {summary.verdict.state}."]


class _Printer:
    """Prints views, one after the other, in the requested format."""

    def __init__(self, form: str | None, layout: str | None, requested: Sequence[str] | None, is_each: bool) -> None:
        self._is_screen = form is None and sys.stdout.isatty()
        self._form = form or MARKDOWN
        self._layout = layout or (WIDE if self._form == CSV else DEFAULT)
        self._columns: Sequence[Column] = columns_of(self._layout, requested)
        self._columns_of_tools = columns_of(self._layout, PERCENTILES if requested is None else requested)
        self._percentiles = rising((*ALWAYS_SHOWN, *(PERCENTILES if requested is None else requested)))
        self._is_each = is_each
        self._objects: list[dict[str, Any]] = []
        self._is_first = True
        if not self._is_screen and hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        if layout and self._form in (JSON, JSON_LINES):
            print_text(f"--layout {layout} has no effect on {self._form}: it contains every metric", file=sys.stderr)

    def add(self, view: View) -> None:
        """Print a view, or store it for the JSON document of all views."""
        if self._is_screen:
            self._show(view)
        elif self._form == MARKDOWN:
            self._markdown(view)
        else:
            self._for_programs(view)
        self._is_first = False
        sys.stdout.flush()

    def add_summary(self, name: str, summary: ToolSummary) -> None:
        """Print the numbers in the summary of another tool; a table has only the columns that it states."""
        if self._form == JSON:
            self._objects.append(summary_object(name, summary))
        elif self._form == JSON_LINES:
            emit(f"{json.dumps(summary_object(name, summary), ensure_ascii=False)}\n")
        else:
            if self._is_each:
                print_page(("" if self._is_first else "\n") + f"## {cell(name)}\n")
            emit(summary_table(summary, self._columns_of_tools, is_csv=self._form == CSV))
            for text in map(one_line, summary.texts):
                is_markdown = self._form == MARKDOWN
                print_text(f"\n{text}" if is_markdown else text, file=sys.stdout if is_markdown else sys.stderr)
        self._is_first = False
        sys.stdout.flush()

    def end(self) -> None:
        """Print the output that needs all views."""
        if self._form == JSON:
            from harness.report.export import json_text  # deferred, as in _for_programs

            emit(json_text(self._objects if self._is_each else self._objects[0]))
            sys.stdout.flush()

    def _show(self, view: View) -> None:
        from harness.report.screen import show  # deferred: only a terminal needs rich, and it loads slowly

        if not self._is_first:
            print_text()
        show(view, self._columns, view.source if self._is_each else "")

    def _markdown(self, view: View) -> None:
        if self._is_each:
            print_page(("" if self._is_first else "\n") + f"## {cell(view.source)}\n")
        from harness.report.account_table import account_line  # deferred: loads what judges while a file is counted

        draw = classic_table if self._layout == CLASSIC else group_table
        parts = [part for group in view.groups for part in parts_of(group)]
        print_page(titled_tables(parts, [draw(part, self._columns) for part in parts]), end="")
        for text in (*_footnotes(view), account_line(view.summary.account)):
            print_text(f"\n{text}")

    def _for_programs(self, view: View) -> None:
        from harness.report.export import csv_head, csv_rows, json_lines, json_object  # deferred: a table needs none

        if self._form == JSON:
            self._objects.append(json_object(view, self._percentiles))
        elif self._form == JSON_LINES:
            emit(json_lines(view, self._percentiles))
        else:
            if self._is_first:
                emit(csv_head(self._columns))
            emit(csv_rows(view, self._columns))
        for text in _footnotes(view):
            print_text(f"{one_line(view.source)}: {text}" if self._is_each else text, file=sys.stderr)


def _footnotes(view: View) -> Iterable[str]:
    return [one_line(text) for text in (*view.remarks, *(warning.text for warning in view.summary.warnings))]
