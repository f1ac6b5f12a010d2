"""Fetches what CloudWatch knows of runs: those that are named, and those that have just come to their end."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from harness.base.errors import EXIT_OK
from harness.compare.sources import find_paths, in_plan
from harness.plan.spec import load_profile
from harness.report.cloudwatch import NothingToFetchError, add_cloudwatch
from harness.run.directory import SWEEP_NAME, RunDirectory


def fetch_metrics(options: argparse.Namespace) -> int:
    """Fetch the figures of the runs that the options name and write their reports again; return the exit code.

    A run that CloudWatch cannot be asked about is told and does not keep the others from theirs.
    """
    asked = None
    if options.env:
        profile = load_profile(options.home / "env", options.env)
        asked = profile.cloudwatch
        if asked is None:
            raise NothingToFetchError(f"ENV={profile.name}: has no [cloudwatch]", "see docs/cloudwatch.md")
    code = EXIT_OK
    runs, sweeps = _found(in_plan(options.run, options.plan), options.reports)
    for directory in runs:
        try:
            add_cloudwatch(directory, print, asked)
            print(os.path.relpath(directory.report))
        except NothingToFetchError as error:
            code = error.exit_code
            print(f"aggregate.py: {error}", file=sys.stderr)
    for report in sweeps:
        from harness.sweep.sources import (
            write_sweep_report,  # here, because the fits of a sweep take their time to load
        )

        write_sweep_report(report)
        print(os.path.relpath(report))
    return code


def _found(names: Iterable[str], reports: Path) -> tuple[list[RunDirectory], list[Path]]:
    """Return the runs that names ask for, and the reports of the sweeps among the names."""
    runs: list[Path] = []
    sweeps: list[Path] = []
    for name in names:
        if SWEEP_NAME.fullmatch(Path(name).stem):
            from harness.sweep.sources import find_sweeps

            for found in find_sweeps([name], reports):
                runs += [path.with_suffix("") for path in found.run_reports.values()]
                sweeps += [found.report] if found.report else []
        else:
            runs += find_paths([name], reports)
    return [RunDirectory(path.resolve()) for path in dict.fromkeys(runs)], sweeps
