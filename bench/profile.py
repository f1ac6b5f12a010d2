"""`scripts/bench profile`: compares profiled runs with runs that are not profiled."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.cpu_cost import SYSTEM
from bench.paired_runs import WITH, WITHOUT, PairedRuns, add_run_options

# A JVM that does little but pass requests on: every sample and every event of the profile counts. With pauses the cores
# have time left: without, Java's compiler competes with the load, and its time decides the CPU time per sample.
_PLAN = "lb-jvm"
_THINK = "[plan.lb-jvm]\nthink_time_s = 0.02\n"
_PROFILES = {WITHOUT: _THINK, WITH: f"[profile]\non = true\n{_THINK}"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    add_run_options(parser, duration="60", users="60")


def bench(options: argparse.Namespace) -> int:
    """Print what `aggregate.py compare` prints; return 0, or 1 when profiled runs are slower."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        return PairedRuns(_PLAN, _PROFILES, Path(name), cpu_of=SYSTEM).compare(options)
