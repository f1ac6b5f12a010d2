"""Fetches the CloudWatch metrics of runs, on request or right after a run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from harness.base.errors import EXIT_OK, HarnessError
from harness.compare.sources import find_paths, in_plan
from harness.plan.spec import load_profile
from harness.report.cloudwatch import NothingToFetchError, add_cloudwatch
from harness.run.directory import SWEEP_NAME, RunDirectory


def fetch_metrics(options: argparse.Namespace) -> int:
    """Fetch the metrics of the named runs and update their reports; return the exit code.

    A run whose metrics cannot be fetched is reported and does not stop the others.
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
            write_sweep_report,  # imported late: the fits of a sweep are slow to load
        )

        write_sweep_report(report)
        print(os.path.relpath(report))
    return code


def _found(names: Iterable[str], reports: Path) -> tuple[list[RunDirectory], list[Path]]:
    """Return the runs with these names, and the reports of the sweeps among the names."""
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


def metrics_after(name: str, directories: Iterable[RunDirectory], log: Callable[[str], None]) -> None:
    """Fetch the metrics of runs that have just finished; errors and Ctrl-C lose nothing.

    `name` is the name of the run or sweep.
    """
    log("CloudWatch: fetching metrics")
    for directory in directories:
        try:
            add_cloudwatch(directory, log)
        except NothingToFetchError:
            continue  # an INVALID run without a load: its report says so
        except (HarnessError, OSError, KeyboardInterrupt) as error:
            what = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            log(f"CloudWatch metrics are missing: {what}")
            log(f"everything else is complete; to fetch them: ./aggregate.py metrics {name}")
            return
