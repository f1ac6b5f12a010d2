"""`aggregate.py metrics`: what it takes. What it needs is loaded when it is called."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.base.toolchain import ROOT

_EPILOG = """\
examples:
  ./aggregate.py metrics killbill-stripe/run-07_1                what the run's profile asks for in its [cloudwatch]
  ./aggregate.py metrics 'run-07_*'                              several runs; a sweep's report is written again, too:
  ./aggregate.py metrics folio-checkin/sweep-07
  ./aggregate.py metrics folio-checkin/run-01_3 --env folio      what env/folio.toml asks for now

Fetching again fills what CloudWatch had not published yet: it is minutes late. Credentials are found as the AWS CLI
finds them; they need cloudwatch:GetMetricData. docs/cloudwatch.md says how to set it up, and what the figures are.

exit codes: 0 fine; 2 wrong use, no credentials or rights, or a run that asks for nothing; 3 the server fails.
"""


def add_metrics(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `metrics` and its options."""
    metrics = verbs.add_parser(
        "metrics",
        help="fetch CPU and memory of services in AWS from CloudWatch, for the reports of runs",
        description="Fetch what CloudWatch knows of runs, keep it as cloudwatch.csv and write their reports again.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    metrics.add_argument("run", nargs="+", metavar="RUN", help="a run, a pattern of runs, or a sweep")
    metrics.add_argument("--env", help="profile whose [cloudwatch] to ask for, in place of that of the run's own")
    metrics.add_argument("--plan", help="the plan of runs that are named without one: run-07_1")
    metrics.add_argument("--home", type=Path, default=ROOT, help="folder that holds env/ (this one)")
    metrics.add_argument("--reports", type=Path, default=ROOT / "reports", help="default: reports/")
