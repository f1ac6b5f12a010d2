"""`lth open`: show a report in the browser, as one HTML file beside it; without a name the report written last."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from pathlib import Path

from harness.base.errors import EXIT_OK, UsageError
from harness.base.log import print_text
from harness.base.paths import shown
from harness.cli.options import take, take_argument
from harness.experiment.files import find_experiment
from harness.history.catalogue import document_kind
from harness.run import kinds
from harness.run.directory import RunDirectory
from harness.run.kinds import RUN_NAME
from harness.run.names import find_paths, in_plan, is_run

_EPILOG = """\
examples:
  lth open                           the report that was written last: of a run, a comparison, an experiment
  lth open run-07_1                  that of a run; also -1, the newest, and -2
  lth open shop/sweep-07             that of an experiment

The page is one HTML file beside the report, which loads nothing. Without a browser, as over ssh, only its path is
printed.

exit codes: 0 success; 2 wrong use.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `open`."""
    parser.description = "Show a report as one HTML page in the browser, and print the path of the page."
    parser.epilog = _EPILOG
    take_argument(parser, "run/opened", "?")
    take(parser, "plan/filter reports")


def run(options: argparse.Namespace) -> int:
    """Write the page unless it is up to date, print its path, open it, and return the exit code."""
    report = _named(options) if options.run else _newest(options.reports)
    page = report.with_suffix(".html")
    sources = [report, report.with_suffix(".json")]
    if not page.is_file() or any(one.is_file() and _time(one) > _time(page) for one in sources):
        from harness.site.files import write_report_page, write_run_page  # deferred: a page may be there

        directory = RunDirectory(report.with_suffix(""))
        if RUN_NAME.fullmatch(directory.name) and directory.summary_json.is_file():
            from harness.base.install.toolchain import ensure_charts

            write_run_page(directory, ensure_charts())
        else:
            write_report_page(report)
    print_text(shown(page), flush=True)
    if has_browser():
        webbrowser.open(page.resolve().as_uri())
    return EXIT_OK


def has_browser() -> bool:
    """Return whether a browser with windows can be seen here: one of the terminal would take that over."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


def _named(options: argparse.Namespace) -> Path:
    kind = kinds.kind_of(Path(options.run).name)
    if kind and not Path(options.run).is_file():
        report = find_experiment(kind, options.reports, options.run, options.plan).report
    else:
        path, *others = find_paths(in_plan([options.run], options.plan), options.reports)
        if others:
            raise UsageError(f"{options.run}: {1 + len(others)} runs", "name one")
        report = RunDirectory(path).report if is_run(path) else path
    if report.suffix != ".md" or not report.is_file():
        raise UsageError(f"{options.run}: has no report", f"lth report {options.run} writes it")
    return report


def _newest(reports: Path) -> Path:
    """Return the report that was written last."""
    patterns = ["*/*.md", *(f"{kind.folder}/*/*.md" for kind in kinds.KINDS if kind.folder)]
    there = [path for pattern in patterns for path in reports.glob(pattern)]
    written = [path for path in there if RUN_NAME.fullmatch(path.stem) or document_kind(path.parent.name, path.stem)]
    if not written:
        raise UsageError(f"{shown(reports)}: no report", "lth run makes one")
    return max(written, key=lambda path: (_time(path), path.as_posix()))


def _time(path: Path) -> int:
    return path.stat().st_mtime_ns
