"""`scripts/bench profile`: compares profiled runs with runs that are not profiled."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.paired_runs import WITH, WITHOUT, PairedRuns, add_run_options

# A JVM that does little but pass requests on: every sample and every event of the profile counts.
_PLAN = "lb-jvm"
_PROFILES = {WITHOUT: "", WITH: "[profile]\non = true\n"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    add_run_options(parser, duration="30", users="10")


def bench(options: argparse.Namespace) -> int:
    """Print what `aggregate.py compare` prints; return 0, or 1 when profiled runs are slower."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        return PairedRuns(_PLAN, _PROFILES, Path(name)).compare(options)
