"""`aggregate.py compare`: what it takes. What it needs is loaded when it is called."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.base.toolchain import ROOT

MARKDOWN, JSON = "markdown", "json"
_EPILOG = """\
examples:
  ./aggregate.py compare killbill-stripe/run-07_1 killbill-stripe/run-07_2     baseline, contender
  ./aggregate.py compare run-07_1 run-07_2                      when only one plan has runs of these names
  ./aggregate.py compare --base 'run-07_*' --new 'run-08_*'     two groups of runs: five a side tell, ten are better
  ./aggregate.py compare old/run-07_1.md samples.jtl.gz         Markdown of any age, JTLs, JSON, in any mixture
  ./aggregate.py compare run-07_1 run-07_2 --threshold p95=20% --threshold errors=1%
  ./aggregate.py compare run-07_1 run-07_2 --save               reports/<plan>/compare-run-07_1-run-07_2.md
  ./aggregate.py compare run-07_1 run-07_2 --format json | jq .verdict
  ./aggregate.py compare folio-checkin/sweep-01 folio-checkin/sweep-02         two sweeps, level by level

Runs that differ in users, plan or duration are refused, unless --anyway. With a DOUBTFUL run on one side the verdict is
CANNOT TELL, unless --anyway. The changes that matter are those of
[compare] in the plan's TOML, else 5 %, of 90 % lines and higher 10 %, of errors half a percent of all samples.

exit codes: 0 OK, or nothing can be told; 1 regressed, with --sure also when nothing can be told; 2 wrong use;
3 a run is invalid.
"""


def add_compare(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `compare` and its options."""
    verb = verbs.add_parser(
        "compare",
        help="compare two runs, or two groups of runs",
        description="Say whether a contender has become worse than a baseline: REGRESSED, OK or CANNOT TELL.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = verb.add_argument
    option("runs", nargs="*", metavar="RUN", help="baseline and contender: runs, JSON, JTLs, Markdown, patterns")
    option("--base", nargs="+", metavar="RUN", help="the runs of the baseline, in place of the first argument")
    option("--plan", help="the plan of runs that are named without one: run-07_1")
    option("--new", nargs="+", metavar="RUN", help="the runs of the contender, in place of the second")
    judging = verb.add_argument_group("how it is judged")
    judging.add_argument("--anyway", action="store_true", help="also judge runs that are DOUBTFUL, or differ in load")
    judging.add_argument("--sure", action="store_true", help="end with 1 also when nothing can be told")
    judging.add_argument(
        "--threshold", action="append", default=[], metavar="METRIC=5%",
        help="the least change that matters of average, p50, p75, p90, p95, p99, throughput or errors; repeatable",
    )  # fmt: skip
    judging.add_argument("--alpha", metavar="A", help="the share of false alarms that is accepted (0.05)")
    judging.add_argument("--label", metavar="REGEX", help="only labels in which it is found; TOTAL is that of all")
    output = verb.add_argument_group("what is written, and where")
    output.add_argument("--format", choices=(MARKDOWN, JSON), default=MARKDOWN)
    output.add_argument("--output", type=Path, metavar="FILE", help="a file; else it is printed. Its notes are kept")
    output.add_argument(
        "--save",
        action="store_true",
        help="write compare-….md and .json beside the runs' reports and print the verdict alone; runs that stand "
        "elsewhere are printed",
    )
    output.add_argument("--reports", type=Path, default=ROOT / "reports", help="where runs are looked for (reports/)")
    output.add_argument("--home", type=Path, default=ROOT, help="folder that holds plans/ (this one)")
