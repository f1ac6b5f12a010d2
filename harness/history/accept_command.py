"""`aggregate.py accept`: what it takes. What it needs is loaded when it is called."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.base.toolchain import ROOT
from harness.history.acceptance import METRIC_NAMES
from harness.history.acceptance_files import ACCEPTED

_EPILOG = f"""\
examples:
  ./aggregate.py accept --since 2026-11-20 --plan killbill-stripe --reason 'payments are checked twice now'
  ./aggregate.py accept --since 2026-11-20 --plan killbill-stripe --users 10 --metric p95 --reason '…'
  ./aggregate.py accept --list
  ./aggregate.py accept --remove --since 2026-11-20 --plan killbill-stripe

From the night given on the history begins anew: nights are compared with those since then. Rows stand in {ACCEPTED},
which belongs into git: CI reads it there.

exit codes: 0 fine; 2 wrong use.
"""


def add_accept(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `accept` and its options."""
    verb = verbs.add_parser(
        "accept",
        help="mark a change as intended: the nightly compares with the nights since then",
        description="Mark a change of a plan's figures as intended, from a night on.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument("--since", metavar="DATE", help="the first night with the change: 2026-11-20")
    verb.add_argument("--plan", help="the plan")
    verb.add_argument("--users", metavar="N", help="only with so many users (default: all loads)")
    verb.add_argument("--env", metavar="PROFILE", help="only with that profile")
    verb.add_argument("--label", help="only that label, or TOTAL (default: all)")
    verb.add_argument("--metric", help=f"only one of: {', '.join(METRIC_NAMES)}")
    verb.add_argument("--reason", help="why it is meant to be so; stands in the nightly's page")
    does = verb.add_mutually_exclusive_group()
    does.add_argument("--list", action="store_true", help="print what is accepted")
    does.add_argument("--remove", action="store_true", help="take an acceptance back")
    verb.add_argument(
        "--reports", type=Path, default=ROOT / "reports" / "nightly", help="the nights; default: reports/nightly"
    )
    verb.add_argument("--file", type=Path, default=ROOT / ACCEPTED, help=f"default: {ACCEPTED}")
