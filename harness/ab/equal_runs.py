"""What the commands of A/B tests and of designed experiments share: equal runs, their options and their summaries."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from harness.base import toolchain
from harness.base.errors import UsageError
from harness.base.log import log
from harness.history.summary_files import SUMMARY_NAME, update_summary
from harness.plan.load import Load, LoadArguments, parse_load, resolve_load
from harness.plan.plan import Plan
from harness.sweep.time_left import RunTime, time_left_s

# The options of scripts/run that all runs have in common.
LENGTH = ("users", "rate", "ramp", "duration", "requests")
# What a run may take beyond its load and the profile's overrun_s: for starting and stopping the system.
SLACK_S = 300.0
# First estimate of a run's time beside its load (start of the system and of JMeter, report): starts take 0.6 to 9 s.
FIRST_GUESS_S = 10.0


def add_length(parser: argparse.ArgumentParser) -> None:
    """Add the options of the load; it is the same in all runs."""
    option = parser.add_argument
    option("--users", help="concurrent users, closed model (the plan's default)")
    option("--rate", help="new users per second, open model, instead of --users")
    option("--ramp", help="ramp-up, part of the duration: 25, 25s, 2m (the plan's default)")
    option("--duration", help="duration of each run with its ramp-up: 100, 100s, 5m (the plan's default)")
    option("--requests", help="end each run after about this many samples (the plan's default)")


def add_folders(parser: argparse.ArgumentParser, reports: Path, help_text: str) -> None:
    """Add the options of the folders; their paths are absolute, since runs of a commit use them from other folders."""
    option = parser.add_argument
    option("--reports", type=_folder, default=reports, help=help_text)
    option("--home", type=_folder, default=toolchain.ROOT, help="folder of plans/, env/ and systems/ (this one)")
    option("--build", type=_folder, default=toolchain.BUILD, help=argparse.SUPPRESS)


def _folder(text: str) -> Path:
    return Path(text).resolve()


def equal_load(plan: Plan, options: argparse.Namespace) -> Load:
    """Return the load of each run; UsageError when the runs would have different or unknown lengths."""
    request = parse_load(LoadArguments(**{name: getattr(options, name) for name in LENGTH}))
    if request.is_auto:
        raise UsageError("DURATION=auto: the runs would have different lengths", "give a time, such as DURATION=60")
    # All runs have the same length.
    load = resolve_load(request, replace(plan.load, auto_most_s=None))
    if load.duration_s is None:
        raise UsageError("the load ends after a number of loops, so its duration is unknown", "give DURATION=60")
    return load


class _Record(Protocol):
    @property
    def lengths_s(self) -> Sequence[RunTime]:
        """Planned and actual seconds of the valid runs."""


class EarlierTest(Protocol):
    """The files of a test or an experiment that was measured earlier."""

    def read(self) -> _Record:
        """Return its record; UsageError when it is invalid."""


def first_guess_s(earlier: Sequence[EarlierTest], unknown_s: float) -> float:
    """Return the seconds that a run took beside its load in the last of the tests, oldest first, else `unknown_s`."""
    for test in reversed(earlier):
        try:
            found = test.read().lengths_s
        except UsageError:  # the record is damaged
            continue
        if found:
            return max(0.0, time_left_s([0.0], found, unknown_s) or 0.0)
    return unknown_s


def update_summaries(reports: Path, usual: Path) -> None:
    """Update the list of the runs in `reports`, and that of all reports when it is the `usual` folder or has one."""
    update_summary(reports, log)
    if reports == usual or (reports.parent / SUMMARY_NAME).is_file():
        update_summary(reports.parent, log)
