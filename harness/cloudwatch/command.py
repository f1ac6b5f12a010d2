"""Command-line options of `aggregate.py metrics`; heavy imports are deferred."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.base.toolchain import ROOT

_EPILOG = """\
examples:
  ./aggregate.py metrics killbill-stripe/run-07_1                the metrics in [cloudwatch] of the run's profile
  ./aggregate.py metrics 'run-07_*'                              several runs; also a sweep, whose report is updated:
  ./aggregate.py metrics folio-checkin/sweep-07
  ./aggregate.py metrics folio-checkin/run-01_3 --env folio      the metrics that env/folio.toml names now

Fetching again adds what CloudWatch had not published yet: it is minutes late. Credentials are found as the AWS CLI
finds them; they need cloudwatch:GetMetricData. docs/cloudwatch.md describes the set-up and the metrics.

exit codes: 0 success; 2 wrong use, missing credentials or permissions, or no [cloudwatch] for a run; 3 the server
fails.
"""


def add_metrics(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `metrics` with its options."""
    metrics = verbs.add_parser(
        "metrics",
        help="fetch CPU and memory of services in AWS from CloudWatch, for the reports of runs",
        description="Fetch the CloudWatch metrics of runs, store them as cloudwatch.csv and update the reports.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    metrics.add_argument("run", nargs="+", metavar="RUN", help="a run, a pattern of runs, or a sweep")
    metrics.add_argument("--env", help="profile whose [cloudwatch] to use instead of the run's own")
    metrics.add_argument("--plan", help="the plan of runs that are named without one: run-07_1")
    metrics.add_argument("--home", type=Path, default=ROOT, help="folder with env/ (this one)")
    metrics.add_argument("--reports", type=Path, default=ROOT / "reports", help="default: reports/")
