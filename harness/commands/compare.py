"""`lth compare`: compare two runs, two groups of runs, or two sweeps."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from harness.base import units
from harness.base.command import Command
from harness.base.errors import EXIT_INVALID, EXIT_OK, EXIT_REGRESSED, UsageError
from harness.base.log import emit, print_page, print_text
from harness.cli.options import take, take_argument
from harness.compare import render as rendered
from harness.compare.advice import next_steps
from harness.compare.answer import rows_of
from harness.compare.causes import causes
from harness.compare.comparison import CANNOT_TELL, INVALID, REGRESSED, Comparison
from harness.compare.decision import compare
from harness.compare.interval_chart import interval_chart
from harness.compare.render import Compared
from harness.compare.setup_diff import setup_differences
from harness.compare.sides import (
    Found,
    is_in,
    name_of,
    pattern_of_labels,
    plans_of,
    read_side,
    refuse_duplicates,
    report_side,
    short_names,
    with_labels,
)
from harness.compare.sources import pasted_tables
from harness.history.files import entries_of
from harness.history.pin_files import runs_of_pins
from harness.history.references import previous_run
from harness.judge.result import NextStep
from harness.kinds.trust.known import known, known_text
from harness.kinds.trust.single_files import single_scatter
from harness.metrics.histogram import Histogram
from harness.metrics.metric import Table, times_of
from harness.plan.plan import thresholds_of
from harness.plan.thresholds import Thresholds
from harness.report.charts.chart import Chart
from harness.report.charts.distribution import NamedCounts, compared_chart
from harness.report.export import json_text
from harness.report.pages import write_page
from harness.report.results import write_result
from harness.report.run_result import RunResult
from harness.run import kinds
from harness.run.directory import write_whole
from harness.run.names import find_run, in_plan
from harness.site.html_option import write_html
from harness.sweep.analysis import analyse
from harness.sweep.export import sweeps_data, sweeps_json
from harness.sweep.labels import of_label
from harness.sweep.level_verdicts import compare_levels
from harness.sweep.pairs import SweepComparison, sentence
from harness.sweep.sources import FoundSweep, are_sweeps, find_sweeps, printed_sweeps, write_sweeps

MARKDOWN, JSON = "markdown", "json"
_NEWEST = ("-2", "-1")
# The pages of files that are not in the reports folder.
_FOLDER = "compare"
_TWO_SIDES = "give a baseline and a contender: compare run-07_1 run-07_2, or --base … --new …"
# The end of the name of the chart of the intervals.
_INTERVALS = "-intervals.svg"
_NAME_A_FILE = "name the report with --output FILE.md"
_EPILOG = """\
examples:
  lth compare killbill-stripe/run-07_1 killbill-stripe/run-07_2                baseline, contender
  lth compare                                                   the newest run of the project's plan with the one before
  lth compare run-07_1 -1                                       a run with the newest one; -2 is the one before
  lth compare baseline run-07_2                                 the run that is pinned as baseline
  lth compare --base 'run-07_*' --new 'run-08_*'                groups of runs: five per side suffice, ten are better
  lth compare old/run-07_1.md samples.jtl.gz                    any mix of Markdown reports, JTL files and JSON
  lth compare old/run-07_95.md                                  a report and the tables of other runs pasted into it
  lth compare old/run-07_95.md#2 new/run-08_1                   its second table; also old/run-07_95.md:72, the line
  lth compare run-07_1 run-07_2 --threshold p95=20% --threshold errors=1%
  lth compare run-07_1 run-07_2 --save                          reports/<plan>/compare-run-07_1-run-07_2.md
  lth compare run-07_1 run-07_2 --html                          also as one HTML file, compare-run-07_1-run-07_2.html
  lth compare run-07_1 run-07_2 --format json | jq .verdict
  lth compare folio-checkin/sweep-01 folio-checkin/sweep-02                    two sweeps over users or a setting
  lth compare folio-workflow/sweep-01 folio-workflow/sweep-02 --label 'Check In'               one transaction of them

Without --anyway, runs with another number of users, plan or duration are refused, and a DOUBTFUL run makes the verdict
CANNOT TELL. Smaller changes than the thresholds are ignored. The thresholds are in [compare] of the plan's TOML file;
the default is 5 %, for p90 and above 10 %, for errors 0.5 % of all samples.

exit codes: 0 OK, IMPROVED or CANNOT TELL; 1 REGRESSED, with --sure also CANNOT TELL; 2 wrong use; 3 a run is INVALID.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `compare`."""
    parser.description = "Report whether a contender is slower than a baseline: REGRESSED, IMPROVED, OK or CANNOT TELL."
    parser.epilog = _EPILOG
    take_argument(parser, "runs", "*")
    take(parser, "base/runs contender/runs plan/filter")
    judging = parser.add_argument_group("verdict options")
    take(judging, "anyway sure threshold alpha label")
    output = parser.add_argument_group("output options")
    take(output, "format/compare output save html junit reports home")


def run(options: argparse.Namespace) -> int:
    """Print or write the comparison and return the exit code."""
    # On a terminal nobody reads Markdown: the page is written, and its verdict and path are printed.
    options.is_screen = options.format is None and options.output is None and sys.stdout.isatty()
    options.save = options.save or options.is_screen
    options.format = MARKDOWN if options.format in (None, "md") else options.format
    if options.html:
        if options.format == JSON:
            raise UsageError("--html: --format json writes no report", "leave one of them out")
        options.save = options.save or options.output is None
    if not (options.runs or options.base or options.contender):
        options.runs = _newest(options)
    if len(options.runs) == 1 and not (options.base or options.contender):
        (name,) = _names(options, _Sides(options.runs, [])).baseline
        return _compare_with_pasted(options, name)
    return _compare_sides(options, _sides(options))


def _newest(options: argparse.Namespace) -> list[str]:
    """Return the newest run of the plan behind the last one before it that has its load; without such a one, -2."""
    newest = find_run("-1", options.plan, options.reports)
    identity = f"{newest.parent.name}/{newest.name}"
    before = previous_run(entries_of(newest.parent), identity)
    return [before.id, identity] if before else list(_NEWEST)


class _Sides(NamedTuple):
    """The names of the runs of both sides."""

    baseline: list[str]
    contender: list[str]


def _compare_sides(options: argparse.Namespace, sides: _Sides) -> int:
    """Print or write the comparison of a baseline and a contender."""
    names = _names(options, sides)
    if are_sweeps([*names.baseline, *names.contender]):
        return _compare_two_sweeps(options, [*names.baseline, *names.contender])
    baseline, contender = read_side(names.baseline, options.reports), read_side(names.contender, options.reports)
    refuse_duplicates(baseline, contender)
    thresholds = _thresholds(options, plans_of(baseline, contender))
    if options.label is not None:
        pattern = pattern_of_labels(options.label, (*baseline, *contender))
        baseline, contender = with_labels(pattern, baseline), with_labels(pattern, contender)
    results, others = ([found.result for found in side] for side in (baseline, contender))
    scatter = single_scatter(options.reports, results, others)
    comparison = compare(results, others, thresholds, options.anyway, scatter)
    output = _output(options, baseline, contender)
    compared = Compared(
        command=_command(options, baseline, contender),
        comparison=comparison,
        baseline=tuple(report_side(found, output) for found in baseline),
        contender=tuple(report_side(found, output) for found in contender),
        settings=setup_differences(results, others),
        thresholds=thresholds,
        remarks=(f"Only labels that match {options.label} are compared; TOTAL covers all labels.",)
        if options.label is not None
        else (),
        causes=causes(results, others) if comparison.verdict == REGRESSED else (),
        next_steps=(*next_steps(comparison, results, others), *_proposed(comparison, others, options)),
    )
    _write(compared, options, output, _charts(comparison, baseline, contender, output) if output else ())
    return _exit_code(comparison.verdict, sure=options.sure)


def _proposed(
    comparison: Comparison, contender: Sequence[RunResult], options: argparse.Namespace
) -> Iterator[NextStep]:
    """Yield the cheapest A/B test that the newest trust test of the plan found, after CANNOT TELL of the same work."""
    run = next((one.run for one in contender if one.run), None)
    if comparison.verdict == CANNOT_TELL and not comparison.is_of_work and run:
        noise = known(options.reports, run.plan, run.load, run.profile)
        if noise is None:
            yield NextStep("Measure which change runs of this plan can show", str(Command.of("trust", plan=run.plan)))
            return
        auto = "; --pairs=auto gives its runs this length" if noise.proposal else ""
        yield NextStep(f"The cheapest A/B test: {known_text(noise, run.plan)}{auto}")


def _compare_with_pasted(options: argparse.Namespace, name: str) -> int:
    """Compare a Markdown report with each table of another run that was pasted into it; return the worst exit code."""
    addresses = pasted_tables(name, options.reports)
    if not addresses:
        raise UsageError(f"compare: {name} is one run, and no other run's table is pasted into it", _TWO_SIDES)
    own, others = addresses[0], addresses[1:]
    if len(others) > 1 and options.is_screen:
        options.save = False
    if len(others) > 1 and (options.output or options.save or options.format == JSON):
        raise UsageError(f"compare: {name} has tables of {len(others)} other runs", f"name one: {others[0]} {own}")
    return max(_compare_sides(options, _Sides([other], [own])) for other in others)


def _names(options: argparse.Namespace, sides: _Sides) -> _Sides:
    """Return the names with the plan in front of bare ones, and the pinned run instead of a pin."""
    baseline, contender = in_plan(sides.baseline, options.plan), in_plan(sides.contender, options.plan)
    every = [*baseline, *contender]
    return _Sides(runs_of_pins(baseline, every, options.reports), runs_of_pins(contender, every, options.reports))


def _exit_code(verdict: str, *, sure: bool) -> int:
    if verdict == INVALID:
        return EXIT_INVALID
    return EXIT_REGRESSED if verdict == REGRESSED or (sure and verdict == CANNOT_TELL) else EXIT_OK


def _sides(options: argparse.Namespace) -> _Sides:
    if options.base or options.contender:
        if options.runs or not (options.base and options.contender):
            raise UsageError("compare: --base and --new go together, without other runs", _TWO_SIDES)
        return _Sides(options.base, options.contender)
    if len(options.runs) != 2:
        raise UsageError(f"compare: {len(options.runs)} arguments instead of two", _TWO_SIDES)
    return _Sides([options.runs[0]], [options.runs[1]])


def _thresholds(options: argparse.Namespace, plans: Sequence[str]) -> Thresholds:
    """Return the thresholds: the first existing plan's, overridden by the options."""
    thresholds = thresholds_of(options.home, plans)
    for text in options.threshold:
        thresholds = thresholds.with_option(text)
    if options.alpha is not None:
        thresholds = replace(thresholds, alpha=units.parse_number(options.alpha, "--alpha", 0.0, 1.0))
    return thresholds


def _output(options: argparse.Namespace, baseline: Sequence[Found], contender: Sequence[Found]) -> Path | None:
    """Return the file to write; None to print.

    --save writes into the contender's plan, or else the baseline's, and prints when neither is in the reports folder;
    on a terminal such a page is written into a folder of its own there.
    """
    if options.output is not None:
        output: Path = options.output
        if not output.parent.is_dir():
            raise UsageError(f"{output}: its folder does not exist", "create it, or pass another path")
        return output
    plan = next((found.path.parent for found in (*contender, *baseline) if is_in(found.path, options.reports)), None)
    if plan is None and options.html:
        raise UsageError(f"--html: no run is in {options.reports}", _NAME_A_FILE)
    if plan is None and options.is_screen:
        plan = options.reports / _FOLDER
        plan.mkdir(parents=True, exist_ok=True)
    if plan is None or not options.save:
        return None
    return plan / f"{kinds.COMPARISON.named(short_names(baseline, plan))}-{short_names(contender, plan)}.md"


def _command(options: argparse.Namespace, baseline: Sequence[Found], contender: Sequence[Found]) -> str:
    """Return the command that makes the same comparison again."""
    names = [[name_of(found, options.reports) for found in side] for side in (baseline, contender)]
    is_pair = len(baseline) == len(contender) == 1
    arguments = [*names[0], *names[1]] if is_pair else ["--base", *names[0], "--new", *names[1]]
    arguments += _judging_options(options)
    if options.label is not None:
        arguments += ["--label", options.label]
    return shlex.join(["lth", "compare", *arguments])


def _charts(
    comparison: Comparison, baseline: Sequence[Found], contender: Sequence[Found], output: Path
) -> tuple[Chart, ...]:
    """Return the charts of the intervals and of the distributions, without those that have nothing to show."""
    total = [comparison.total] if comparison.total else []
    svg = interval_chart(rows_of([*total, *comparison.labels]))
    intervals = Chart(f"{output.stem}{_INTERVALS}", svg) if svg else None
    return tuple(chart for chart in (intervals, _chart(baseline, contender, output)) if chart)


def _chart(baseline: Sequence[Found], contender: Sequence[Found], output: Path) -> Chart | None:
    """Return the chart of the response time distributions; None when a side has no samples."""
    sides = []
    for side, role in ((baseline, "baseline"), (contender, "contender")):
        totals = [found.result.total for found in side]
        histograms = [total.histogram for total in totals if total and total.histogram]
        if not histograms or len(histograms) < len(side):
            return None
        together = Histogram()
        for histogram in histograms:
            together.merge(histogram.counts)
        name = f"{role}: {side[0].result.name}" + (f" and {len(side) - 1} more" if len(side) > 1 else "")
        sides.append(NamedCounts(name, together.counts))
    svg = compared_chart("Distribution of response times", sides[0], sides[1])
    return Chart(output.with_suffix(".svg").name, svg)


def _write(compared: Compared, options: argparse.Namespace, output: Path | None, charts: Sequence[Chart]) -> None:
    plain = rendered.to_json(compared, charts[0].name if charts and options.format == MARKDOWN else "")
    options.junit.add(plain, _exit_code(compared.comparison.verdict, sure=options.sure))
    if output is None:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        emit(json_text(plain) if options.format == JSON else rendered.report(compared, ""))
        return
    if options.format == MARKDOWN:
        for name in (output.with_suffix(".svg").name, f"{output.stem}{_INTERVALS}"):
            output.with_name(name).unlink(missing_ok=True)  # left by an earlier comparison
        for chart in charts:
            write_whole(output.with_name(chart.name), chart.svg)
        write_page(output, lambda notes: rendered.report(compared, notes, charts))
        write_result(output, plain)
    else:
        write_whole(output.with_suffix(".json") if options.save else output, json_text(plain))
    columns = shutil.get_terminal_size().columns
    text = rendered.terminal_text(compared.comparison, columns, compared.next_steps)
    print_text(f"{text}{os.path.relpath(output)}")
    if options.html:
        write_html(output)


def _compare_two_sweeps(options: argparse.Namespace, names: Sequence[str]) -> int:
    """Print or write the comparison of two sweeps and return the exit code."""
    stored_sweeps = find_sweeps(names, options.reports)
    if options.label is not None:
        stored_sweeps = [replace(one, sweep=of_label(one.sweep, options.label)) for one in stored_sweeps]
    baseline, contender = stored_sweeps
    thresholds = _thresholds(options, [contender.sweep.record.plan if contender.sweep.record else ""])
    comparison = compare_levels(baseline, contender, thresholds, anyway=options.anyway).whole
    analyses = [analyse(one.sweep.levels, one.sweep.goal) for one in stored_sweeps]
    label = ["--label", options.label] if options.label is not None else []
    sweeps = [_sweep_name(one) for one in stored_sweeps]
    command = shlex.join(["lth", "compare", *sweeps, *_judging_options(options), *label])
    output: Path | None = options.output
    if output is None and options.save and contender.report is not None:
        output = contender.report.with_name(
            f"{kinds.COMPARISON.named(_short_sweep_name(baseline, contender))}-{contender.report.stem}.md"
        )
    if output is None and options.html:
        raise UsageError(f"--html: no sweep is in {options.reports}", _NAME_A_FILE)
    options.junit.add(sweeps_data([one.sweep for one in stored_sweeps], analyses, [comparison]))
    if options.format == JSON:
        emit(sweeps_json([one.sweep for one in stored_sweeps], analyses, [comparison]))
    elif output is None:
        print_page(printed_sweeps(stored_sweeps, analyses, [comparison], command), end="")
    else:
        write_sweeps(stored_sweeps, analyses, [comparison], output, command)
        print_text("\n".join([*_sweep_lines(comparison), os.path.relpath(output)]))
        if options.html:
            write_html(output)
    return _exit_code(comparison.verdict, sure=options.sure)


def _judging_options(options: argparse.Namespace) -> list[str]:
    """Return the verdict options as arguments of a command line."""
    arguments = ["--anyway"] * options.anyway
    for text in options.threshold:
        arguments += ["--threshold", text]
    return arguments + (["--alpha", options.alpha] if options.alpha is not None else [])


def _sweep_name(found: FoundSweep) -> str:
    """Return the name of a sweep in a command."""
    return found.sweep.record.id if found.sweep.record else found.sweep.name


def _short_sweep_name(baseline: FoundSweep, contender: FoundSweep) -> str:
    """Return the baseline's name for a file's name, with its plan when that is another plan."""
    assert baseline.report is not None and contender.report is not None
    folder = baseline.report.parent
    return baseline.report.stem if folder == contender.report.parent else f"{folder.name}-{baseline.report.stem}"


def _sweep_lines(comparison: SweepComparison) -> list[str]:
    keys = [metric.key for metric in times_of(Table.BRIEF)]
    lines = [sentence(comparison, figure) for figure in comparison.figures if figure.figure in keys]
    levels = (f"{level.key.text}: {level.verdict}" for level in comparison.verdicts)
    return [f"{comparison.verdict}: {comparison.reason}", *lines, *levels]
