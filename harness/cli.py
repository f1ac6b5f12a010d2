"""`aggregate.py`: tables and reports from JTLs and run directories."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from harness.base.config import did_you_mean
from harness.base.errors import EXIT_INVALID, EXIT_OK, UsageError
from harness.base.interrupts import Interrupts
from harness.base.toolchain import ROOT
from harness.cloudwatch.command import add_metrics
from harness.compare.command import add_compare
from harness.history.accept_command import add_accept
from harness.history.commands import add_history, add_site, add_summary, write_summary
from harness.metrics.figures import LOAD
from harness.nightly.page_command import add_nightly, render_night
from harness.report.table_command import add_table, joined_sort, print_tables
from harness.storage.command import LS, PULL, PUSH, add_storage
from harness.sweep.report_command import add_sweep, report_sweeps

_EPILOG = """\
examples:
  ./aggregate.py table samples.jtl                              figures per label; table --help shows what more it can
  ./aggregate.py report killbill-stripe/run-01_1                writes run-01_1.md and run-01_1.json again
  ./aggregate.py report --merge gen1/run-01_1 gen2/run-01_1     one run of those of independent generators
  ./aggregate.py compare run-07_1 run-07_2                      has the second become worse than the first?
  ./aggregate.py sweep killbill-stripe/sweep-02                 how many users the goal allows; plateau, cliff, charts
  ./aggregate.py summary                                        writes reports/SUMMARY.md: every run, newest first
  ./aggregate.py history --plan killbill-stripe --metric p90    figures over time; history --help shows what more it can
  ./aggregate.py nightly 2026-11-21                             the page of a night again
  ./aggregate.py accept --since 2026-11-20 --plan … --reason …  a change is intended; the nightly compares since then
  ./aggregate.py push run-01_1 s3://bucket/prefix               keeps runs in S3; pull gets them back, ls lists them
  ./aggregate.py metrics killbill-stripe/run-01_1               CPU and memory of services in AWS, from CloudWatch
  ./aggregate.py site                                           writes build/site: all reports as HTML, no server needed

exit codes: 0 fine; 1 regressed; 2 wrong use or a file that cannot be understood; 3 the run is invalid.
"""

_VERBS = (
    "table", "report", "compare", "sweep", "summary", "history", "nightly", "accept", "site", "metrics", PUSH, PULL, LS,
)  # fmt: skip
_TAKING_FILES = ("table", "compare", "sweep", "metrics", PUSH, PULL, LS, "report")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog="aggregate.py",
        description="Turn JTLs and run directories into tables and reports.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = result.add_subparsers(
        dest="verb",
        required=True,
        metavar="|".join(_VERBS),
    )
    add_table(verbs)
    report = verbs.add_parser("report", help="render the report of a run again; its notes are kept")
    report.add_argument("run", nargs="+", help="a run directory, its .json or .md, or a name: killbill-stripe/run-01_1")
    report.add_argument(
        "--merge",
        action="store_true",
        help="make one run of several, each of a generator by itself: run directories, or JTLs; name=… gives a name",
    )
    report.add_argument(
        "--into", type=Path, metavar="RUN", help="with --merge: the new run's folder; default: a free name"
    )
    report.add_argument("--plan", help="the plan of a run that is named without one: run-01_1")
    report.add_argument(
        "--reports", type=Path, default=ROOT / "reports", metavar="DIR", help="where runs are (reports/)"
    )
    add_compare(verbs)
    add_sweep(verbs)
    add_summary(verbs)
    add_history(verbs)
    add_nightly(verbs)
    add_accept(verbs)
    add_site(verbs)
    add_metrics(verbs)
    add_storage(verbs)
    return result


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments ask for; return the exit code."""
    program = parser()
    _refuse_no_verb(arguments)
    # argparse takes no files on both sides of an option: those behind it come back in `rest`.
    options, rest = program.parse_known_args(joined_sort(arguments))
    unknown = [word for word in rest if options.verb not in _TAKING_FILES or (word.startswith("-") and word != "-")]
    if unknown:
        program.error(f"unrecognized arguments: {' '.join(unknown)}")
    with Interrupts():  # TERM and HUP as well as Ctrl-C: files unpacked meanwhile go
        if options.verb == "table":
            options.input += rest
            return print_tables(options)
        if options.verb == "compare":
            from harness.compare.runs import compare_runs  # here, because SciPy takes its time to load

            options.runs += rest
            return compare_runs(options)
        if options.verb == "sweep":
            options.sweep += rest
            return report_sweeps(options)
        if options.verb == "summary":
            return write_summary(options)
        if options.verb == "history":
            from harness.history.command import print_history  # here, because pandas takes its time to load

            return print_history(options)
        if options.verb == "accept":
            from harness.history.accept import accept  # here, because nothing else needs the nights

            return accept(options)
        if options.verb == "nightly":
            return render_night(options)
        if options.verb == "site":
            from harness.site.command import make_site  # here, because only the site needs to read Markdown

            return make_site(options)
        if options.verb == "metrics":
            from harness.cloudwatch.fetch_command import (
                fetch_metrics,  # here, because only reports need charts and templates
            )

            options.run += rest
            return fetch_metrics(options)
        if options.verb in (PUSH, PULL, LS):
            from harness.storage.transfer_command import (
                store,  # here, because only S3 needs boto3, which takes its time to load
            )

            options.words += rest
            return store(options)
        options.run += rest
        if options.merge:
            from harness.report.merge_command import merge_runs  # here, because only reports need charts and templates

            return merge_runs(options)
        if len(options.run) > 1:
            raise UsageError(
                f"{options.run[1]}: a report is of one run", "name one, or make one run of them with --merge"
            )
        return _report(options.run[0], options.plan, options.reports)


def _refuse_no_verb(arguments: Sequence[str]) -> None:
    """Raise a UsageError for a file or a misspelt word where the verb is due."""
    word = arguments[0] if arguments else "-"
    if word.startswith("-") or word in _VERBS:
        return
    path = Path(word)
    if path.exists() or path.suffix in (".jtl", ".md", ".json"):
        verb = "report" if (path / "run.json").is_file() else "compare" if path.suffix in (".md", ".json") else "table"
        more = " …" if verb == "compare" else ""
        raise UsageError(f"{word}: the verb is missing", f"do you mean: ./aggregate.py {verb} {word}{more}")
    raise UsageError(f"{word}: no such verb", f"{did_you_mean(word, _VERBS)}there are: {', '.join(_VERBS)}")


def _report(name: str, plan: str | None, reports: Path) -> int:
    # Here, because only a report needs charts and templates, which take their time to load.
    from harness.compare.sources import find_paths, in_plan
    from harness.report.files import write_report
    from harness.report.verdict import headline
    from harness.run.directory import RunDirectory

    path, *others = find_paths(in_plan([name], plan), reports)
    if others:
        raise UsageError(f"{name}: {1 + len(others)} runs", "name one: a report is of one run")
    directory = RunDirectory(path.resolve())
    summary = write_report(directory)
    print(f"{os.path.relpath(directory.report)}: {headline(summary.verdict)}")
    return EXIT_OK if summary.group(LOAD) else EXIT_INVALID
