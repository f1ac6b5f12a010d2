"""`lth metrics`: fetch CloudWatch metrics for runs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from harness.base.errors import EXIT_OK
from harness.base.log import print_text
from harness.base.project import folder_with
from harness.cli.options import take, take_argument
from harness.cloudwatch.queries import requested
from harness.plan.spec import load_profile
from harness.report.cloudwatch import NothingToFetchError, add_cloudwatch
from harness.run import kinds
from harness.run.directory import RunDirectory
from harness.run.names import find_paths, in_plan

_EPILOG = """\
examples:
  lth metrics killbill-stripe/run-07_1                           the metrics in [cloudwatch] of its profile
  lth metrics 'run-07_*'                                         several runs
  lth metrics folio-checkin/sweep-07                             the runs of a sweep; its report is written again, too
  lth metrics folio-checkin/run-01_3 --env folio                 the metrics in env/folio.toml

AWS publishes metrics minutes late; fetch again to fill gaps. Credentials are found as the AWS CLI finds them;
lth help cloudwatch describes the set-up, the rights that they need, and the metrics.

exit codes: 0 success; 2 wrong use, no credentials or rights, or a run whose profile names no metrics; 3 the server
failed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `metrics`."""
    parser.description = "Fetch what AWS knows of runs, store it in their folders and write the reports again."
    parser.epilog = _EPILOG
    take_argument(parser, "run", "+")
    take(parser, "env/metrics plan/filter home reports")


def run(options: argparse.Namespace) -> int:
    """Fetch the metrics of the runs, write their reports again and return the exit code.

    A run without CloudWatch metrics is reported, and the other runs are still fetched.
    """
    spec = None
    if options.env:
        profile = load_profile(folder_with(options.home, "env", options.env), options.env)
        spec = requested(profile.cloudwatch, profile.name)
        if spec is None:
            raise NothingToFetchError(f"--env={profile.name}: has no [cloudwatch]", "see lth help cloudwatch")
    code = EXIT_OK
    named = _runs_named(in_plan(options.run, options.plan), options.reports)
    for directory in named.runs:
        try:
            add_cloudwatch(directory, print, spec)
            print_text(os.path.relpath(directory.report))
        except NothingToFetchError as error:
            code = error.exit_code
            print_text(f"lth: {error}", file=sys.stderr)
    for report in named.sweep_reports:
        from harness.sweep.sources import write_sweep_report  # imported late, because only sweeps need NumPy

        write_sweep_report(report)
        print_text(os.path.relpath(report))
    return code


class _Named(NamedTuple):
    """The named runs, and the reports of the named sweeps."""

    runs: list[RunDirectory]
    sweep_reports: list[Path]


def _runs_named(names: Iterable[str], reports: Path) -> _Named:
    """Return the runs with these names, those of named sweeps included, and the reports of these sweeps."""
    runs: list[Path] = []
    sweep_reports: list[Path] = []
    for name in names:
        if kinds.SWEEP.numbered.fullmatch(Path(name).stem):
            from harness.sweep.sources import find_sweeps

            for sweep in find_sweeps([name], reports):
                runs += [path.with_suffix("") for path in sweep.run_reports.values()]
                sweep_reports += [sweep.report] if sweep.report else []
        else:
            runs += find_paths([name], reports)
    return _Named([RunDirectory(path.resolve()) for path in dict.fromkeys(runs)], sweep_reports)
