"""`lth report`: write the report of a run again, merge several runs into one, or make one of a file."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base.errors import EXIT_INVALID, EXIT_OK, UsageError
from harness.base.install.toolchain import ensure_charts
from harness.base.log import print_text
from harness.base.project import current_project, folder_with
from harness.cli.options import take, take_argument
from harness.metrics.counter_process import shared_counter
from harness.metrics.figures import LOAD
from harness.run.counted import count_run
from harness.run.directory import RunDirectory
from harness.run.names import find_run, refuse_stored

if TYPE_CHECKING:
    from harness.judge.summary import RunSummary
    from harness.plan.goal import Goal

_EPILOG = """\
examples:
  lth report                                                     the newest run's
  lth report killbill-stripe/run-01_1                            writes the report and its JSON; notes are preserved
  lth report killbill-stripe/run-01_1 --html                     also as one HTML file, run-01_1.html
  lth report --merge gen1/run-01_1 gen2/run-01_1                 merges the runs of independent load generators
  lth report results.json --into reports/shop/run-01_1           makes a run of a JTL, or of the samples of another tool
  lth report results.jtl --into reports/shop/run-01_2 --goal 'p95<500'   judges it, exit code 1 if the goal is missed
  lth report --merge eu=gen1/run-01_1 us=gen2/run-01_1               with a name for each of them

exit codes: 0 success; 1 with --into: a goal is missed, given or of the plan; 2 wrong use; 3 no samples, with
--goal also: an INVALID verdict, with --sure also: one that is not VALID.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `report`."""
    parser.description = "Write the report of a run again, or merge several runs into one. Notes are preserved."
    parser.epilog = _EPILOG
    take_argument(parser, "run", "*")
    take(parser, "merge into html junit successful plan/filter goal/results sure reports")


def run(options: argparse.Namespace) -> int:
    """Write the report and return the exit code."""
    if options.merge or options.into:
        if not options.run:
            raise UsageError("RUN is missing", "name the runs to merge, or the file of which a run is made")
        return _merge(options)
    options.run = options.run or ["-1"]
    if options.goal is not None:
        todo = f"judge another one: lth table {options.run[0]} --goal='{options.goal}'"
        raise UsageError("--goal: a run has the goals of its plan", todo)
    if len(options.run) > 1:
        raise UsageError(f"{options.run[1]}: a report covers one run", "name one, or merge them with --merge")
    name = options.run[0]
    directory = RunDirectory(find_run(name, options.plan, options.reports, "name one: a report covers one run"))
    # What writes a report takes as long to load as a million samples to count: so both happen at the same time.
    with shared_counter(meanwhile=_load_report):
        counted = count_run(directory)
        from harness.report.files import write_report

        summary = write_report(directory, counted, successful=options.successful)
    from harness.judge.verdict import headline

    print_text(f"{os.path.relpath(directory.report)}: {headline(summary.verdict)}")
    return _ended(options, directory, summary)


def _load_report() -> None:
    import harness.report.files  # noqa: F401 - to be there when it is needed


def _merge(options: argparse.Namespace) -> int:
    """Merge the runs, print the result and return the exit code."""
    from rich.console import Console  # deferred, as below: the report of one run prints a line

    from harness.report.files import write_report
    from harness.report.merge_files import merge
    from harness.report.screen import show_closing

    for name in options.run:
        refuse_stored(name)
    goal = _goal_of(options)
    merged = merge(options.run, options.reports.resolve(), options.into, goal)
    if options.successful:
        merged = merged._replace(summary=write_report(merged.directory, successful=True))
    show_closing(Console(), merged.summary, os.path.relpath(merged.directory.report))
    return _ended(options, merged.directory, merged.summary)


def _goal_of(options: argparse.Namespace) -> Goal | None:
    """Return the goal that was given, else that of the project's plan whose run the results become."""
    from harness.plan.goal_input import parse_goal
    from harness.plan.plan import load_plan

    if options.goal is not None:
        places = [base / name.rpartition("=")[2] for name in options.run for base in (Path(), options.reports)]
        if any(place.is_dir() for place in places):
            raise UsageError("--goal: runs have the goals of their plan", "name JTLs, or leave --goal out")
        return parse_goal(options.goal, "--goal")
    if options.into is None:
        return None
    plan = options.into.resolve().parent.name
    plans = folder_with(current_project().folder, "plans", plan)
    if not (plans / f"{plan}.toml").is_file():  # results of anything may become a run
        return None
    try:
        goal = load_plan(plans, plan).goal
    except UsageError as error:
        print_text(f"The goals of the plan {plan} are not applied: {error}", file=sys.stderr)
        return None
    return goal if goal.text else None


def _ended(options: argparse.Namespace, directory: RunDirectory, summary: RunSummary) -> int:
    """Write the HTML file, if it is wanted, and return the exit code."""
    if options.html:
        from harness.site.files import page_line, write_run_page  # deferred: a report in Markdown needs no site

        print_text(page_line(write_run_page(directory, ensure_charts())))
    options.junit.add_report(directory.report)
    verdict = summary.verdict
    if options.goal is not None or (summary.run is None and verdict.goals):
        return verdict.exit_code_if(sure=options.sure)
    return EXIT_INVALID if summary.group(LOAD) is None or (options.sure and not verdict.is_valid) else EXIT_OK
