"""`aggregate.py accept`: record an intended change, so that the nightly accepts it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

from harness.base.config import did_you_mean
from harness.base.errors import EXIT_OK, UsageError
from harness.base.toolchain import ROOT
from harness.base.units import parse_date, parse_whole_number
from harness.history.acceptance import Acceptance, acceptances_csv, with_one_more, without
from harness.history.acceptance_files import ACCEPTED, read_acceptances, write_acceptances
from harness.history.files import read_catalogue
from harness.history.nightly_series import Night, nights_of
from harness.metrics.metric import compared_metrics, parse_metric

_USERS_MOST = 1_000_000


_EPILOG = f"""\
examples:
  ./aggregate.py accept --since 2026-11-20 --plan killbill-stripe --reason 'payments are checked twice now'
  ./aggregate.py accept --since 2026-11-20 --plan killbill-stripe --users 10 --metric p95 --reason '…'
  ./aggregate.py accept --list
  ./aggregate.py accept --remove --since 2026-11-20 --plan killbill-stripe

From that night on, nightly runs are compared only with the nights since then. Accepted changes are stored in
{ACCEPTED}. Commit that file: CI reads it from git.

exit codes: 0 success; 2 wrong use.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `accept`."""
    parser.description = "Record an intended change of a plan's metrics, from a night on."
    parser.epilog = _EPILOG
    option = parser.add_argument
    option("--since", metavar="DATE", help="the first night with the change, such as 2026-11-20")
    option("--plan", help="name of the plan")
    option("--users", metavar="N", help="only for N users (default: all loads)")
    option("--env", metavar="PROFILE", help="only for this profile")
    option("--label", help="only for this label, or TOTAL (default: all)")
    option("--metric", help=f"only one of: {', '.join(metric.name for metric in compared_metrics())}")
    option("--reason", help="why the change is intended; the nightly report quotes it")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--list", action="store_true", help="print the accepted changes")
    action.add_argument("--remove", action="store_true", help="remove an accepted change")
    nights = "folder of the nightly runs; default: reports/nightly"
    option("--reports", type=Path, default=ROOT / "reports" / "nightly", help=nights)
    option("--file", type=Path, default=ROOT / ACCEPTED, help=f"default: {ACCEPTED}")


def run(options: argparse.Namespace) -> int:
    """Add, remove or print accepted changes and return the exit code."""
    file: Path = options.file
    there = read_acceptances(file)
    if options.list:
        print(acceptances_csv(there), end="")
        return EXIT_OK
    asked = _asked(options)
    where = os.path.relpath(file)
    if options.remove:
        write_acceptances(file, without(there, asked.what))
        print(f"{where}: {asked.text} is not accepted any more")
        return EXIT_OK
    nights = nights_of(read_catalogue(options.reports).entries) if options.reports.is_dir() else ()
    _check(asked, nights)
    if not file.parent.is_dir():
        raise UsageError(f"{where}: its folder is not there", "make it, or name another")
    write_acceptances(file, with_one_more(there, asked))
    first = min(
        (night.night for night in nights if night.plan == asked.plan and night.night >= asked.since), default=""
    )
    begins = f"the night of {first}" if first else "the next night"
    print(f"{where}: {asked.text} is accepted; the history begins anew with {begins}. Commit the file.")
    return EXIT_OK


def _asked(options: argparse.Namespace) -> Acceptance:
    """Return what the options name; of what is taken back the reason does not matter."""
    needed = ("since", "plan") if options.remove else ("since", "plan", "reason")
    missing = [f"--{name}" for name in needed if not (getattr(options, name) or "").strip()]
    if missing:
        raise UsageError(f"{' and '.join(missing)} missing", "./aggregate.py accept --help has examples")
    return Acceptance(
        since=parse_date(options.since, "--since"),
        plan=options.plan,
        users=None if options.users is None else parse_whole_number(options.users, "--users", 1, _USERS_MOST),
        profile=options.env,
        label=options.label,
        metric=None if options.metric is None else parse_metric(options.metric, "--metric"),
        reason=" ".join((options.reason or "").split()),
    )


def _check(asked: Acceptance, nights: Iterable[Night]) -> None:
    """Raise UsageError for a plan that there is not, or what no night of it has; without a night all may be right."""
    plans = {path.stem for path in (ROOT / "plans").glob("*.toml")} | {night.plan for night in nights}
    _check_name("--plan", asked.plan, plans, "no such plan")
    own = [night for night in nights if night.plan == asked.plan]
    if not own:
        return
    users = {str(night.conditions.load.users) for night in own}
    labels = {label for night in own for label in night.labels}
    for option, name, names in (
        ("--users", asked.users, users),
        ("--env", asked.profile, {night.conditions.profile for night in own}),
        ("--label", asked.label, labels),
    ):
        if name is not None and names:
            _check_name(option, str(name), names, f"no night of {asked.plan} has it")


def _check_name(option: str, name: str, names: Iterable[str], problem: str) -> None:
    if name not in names:
        there = sorted(names)
        raise UsageError(f"{option} {name}: {problem}", f"{did_you_mean(name, there)}there are: {', '.join(there)}")
