"""`scripts/bench failures`: compares runs that watch for failed requests with runs that do not; no request fails."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.paired_runs import WITH, WITHOUT, PairedRuns, add_run_options
from bench.run import StartedSystem

# Full speed, without a pause: nothing shows the cost of a sample better.
_PLAN = "lb-direct"
# Both are profiles of the same machine; an empty value switches the agent's part off.
_PROFILES = {
    WITHOUT: '[generator]\njvm_args = "-Dharness.exchanges="\n',
    WITH: '[generator]\njvm_args = "-Dharness.bench=1"\n',
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    add_run_options(parser, duration="20", users="10")


def bench(options: argparse.Namespace) -> int:
    """Print what `aggregate.py compare` prints; return 0, or 1 when the runs that watch are slower."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, StartedSystem(_PLAN, Path(name)) as target:
        return PairedRuns(_PLAN, _PROFILES, Path(name), target).compare(options)
