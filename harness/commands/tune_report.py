"""`aggregate.py tune`: write the report of a designed experiment again, from its record and its runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.base.paths import shown
from harness.base.toolchain import ROOT
from harness.experiment.files import Experiments
from harness.experiment.runner import rewritten
from harness.run import kinds
from harness.tune.record import TuneRecord
from harness.tune.steps import TuneExperiment
from harness.tune.text import headline

_EPILOG = """\
examples:
  ./aggregate.py tune killbill-stripe/tune-01              writes reports/tune/killbill-stripe/tune-01.md again
  ./aggregate.py tune reports/tune/killbill-stripe/tune-01.md

The effects are computed from the stored runs, so an experiment that was killed gets the report of what it measured.
scripts/tune with --resume continues it. When a run has lost its numbers, nothing is written.

exit codes: those of scripts/tune: 0 success; 2 wrong use; 3 the runs are INVALID; 130 the experiment is not finished.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `tune`."""
    parser.description = "Write the report of a designed experiment again and print its result. Notes are preserved."
    parser.epilog = _EPILOG
    option = parser.add_argument
    option("name", help="an experiment such as killbill-stripe/tune-01, or its .json or .md file")
    option("--reports", type=Path, default=ROOT / "reports" / kinds.EXPERIMENT.folder, help="default: reports/tune/")


def run(options: argparse.Namespace) -> int:
    """Write the report, print its headline and return the exit code of the experiment."""
    experiments = Experiments(TuneRecord, options.reports)
    files = experiments.find(options.name)
    outcome = rewritten(TuneExperiment(files, {}), files, experiments)
    print(f"{shown(files.report)}: {headline(outcome)}")
    return outcome.exit_code
