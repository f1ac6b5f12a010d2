"""`lth accept`: record an intended change, so that the nightly accepts it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from harness.base.config import did_you_mean
from harness.base.errors import EXIT_OK, UsageError
from harness.base.log import emit, print_text
from harness.base.project import current_project, names_in
from harness.base.units import parse_date, parse_whole_number
from harness.cli.options import take
from harness.history.acceptance import (
    ACCEPTED,
    Acceptance,
    acceptances_csv,
    read_acceptances,
    with_one_more,
    without,
    write_acceptances,
)
from harness.history.files import read_catalogue
from harness.history.nightly_series import NightlyRuns, nightly_runs_of
from harness.metrics.metric import parse_metric
from harness.run import kinds

_USERS_MOST = 1_000_000


_EPILOG = f"""\
examples:
  lth accept --since 2026-11-20 --plan killbill-stripe --reason 'payments are checked twice now'
  lth accept --since 2026-11-20 --plan killbill-stripe --users 10 --metric p95 --reason '…'
  lth accept --list
  lth accept --remove --since 2026-11-20 --plan killbill-stripe

From that date on, nightly runs are compared only with nightly runs since then. Accepted changes are stored in
{ACCEPTED}. Commit that file: CI reads it from git.

exit codes: 0 success; 2 wrong use.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `accept`."""
    parser.description = "Record an intended change of a plan's metrics, from a nightly run on."
    parser.epilog = _EPILOG
    take(parser, "since/accept plan/named users/filter env/filter label/only metric/only reason reports file")
    take(parser.add_mutually_exclusive_group(), "list remove/accept")


def run(options: argparse.Namespace) -> int:
    """Add, remove or print accepted changes and return the exit code."""
    file: Path = options.file
    there = read_acceptances(file)
    if options.list:
        emit(acceptances_csv(there))
        return EXIT_OK
    requested = _acceptance(options)
    where = os.path.relpath(file)
    if options.remove:
        write_acceptances(file, without(there, requested.what))
        print_text(f"{where}: {requested.text} is no longer accepted")
        return EXIT_OK
    options.reports = kinds.NIGHTLY.folder_in(options.reports)
    groups = nightly_runs_of(read_catalogue(options.reports).entries) if options.reports.is_dir() else ()
    _check(requested, groups)
    today = datetime.now(UTC).date().isoformat()
    if requested.since > today:
        raise UsageError(f"--since {requested.since}: after today, {today} UTC", "name the first nightly run with it")
    if not file.parent.is_dir():
        raise UsageError(f"{where}: its folder does not exist", "create it, or pass another path")
    write_acceptances(file, with_one_more(there, requested))
    first = min(
        (group.date for group in groups if group.plan == requested.plan and group.date >= requested.since), default=""
    )
    begins = f"the nightly run of {first}" if first else "the next nightly run"
    print_text(f"{where}: {requested.text} is accepted; the history restarts with {begins}. Commit the file.")
    return EXIT_OK


def _acceptance(options: argparse.Namespace) -> Acceptance:
    """Return the change that the options describe; --remove needs no reason."""
    needed = ("since", "plan") if options.remove else ("since", "plan", "reason")
    missing = [f"--{name}" for name in needed if not (getattr(options, name) or "").strip()]
    if missing:
        raise UsageError(f"{' and '.join(missing)} missing", "lth accept --help has examples")
    return Acceptance(
        since=parse_date(options.since, "--since"),
        plan=options.plan,
        users=None if options.users is None else parse_whole_number(options.users, "--users", 1, _USERS_MOST),
        profile=options.env,
        label=options.label,
        metric=None if options.metric is None else parse_metric(options.metric, "--metric"),
        reason=" ".join((options.reason or "").split()),
    )


def _check(requested: Acceptance, groups: Iterable[NightlyRuns]) -> None:
    """Raise UsageError for an unknown plan, or for values that no nightly run has; without any, all are accepted."""
    plans = {path.stem for path in names_in(current_project().folder, "plans", "*.toml")}
    plans |= {group.plan for group in groups}
    _check_name("--plan", requested.plan, plans, "no such plan")
    own = [group for group in groups if group.plan == requested.plan]
    if not own:
        return
    users = {str(group.conditions.load.users) for group in own}
    labels = {label for group in own for label in group.labels}
    for option, name, names in (
        ("--users", requested.users, users),
        ("--env", requested.profile, {group.conditions.profile for group in own}),
        ("--label", requested.label, labels),
    ):
        if name is not None and names:
            _check_name(option, str(name), names, f"no nightly run of {requested.plan} has it")


def _check_name(option: str, name: str, names: Iterable[str], problem: str) -> None:
    if name not in names:
        known = sorted(names)
        raise UsageError(f"{option} {name}: {problem}", f"{did_you_mean(name, known)}there are: {', '.join(known)}")
