"""`scripts/bench failures`: compares runs that watch for failed requests with runs that do not; no request fails."""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from bench.runs.paired_runs import WITH, WITHOUT, PairedRuns, add_run_options
from bench.runs.run import StartedSystem
from harness.base.install import toolchain
from harness.base.java import jmeter_java_path
from harness.run.jmeter.exchanges import STORE_FAILURES

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
    """Print the CPU time of the agent in a loop, and what `aggregate.py compare` prints of runs.

    Return 0, or 1 when the runs that watch are slower.
    """
    print(f"CPU of the agent per successful sample, in a loop: {loop_ns()} ns\n")
    with tempfile.TemporaryDirectory(prefix="bench-") as name, StartedSystem(_PLAN, Path(name)) as target:
        return PairedRuns(_PLAN, _PROFILES, Path(name), target).compare(options)


def loop_ns() -> str:
    """Return the CPU time that the agent needs for a successful sample, ns, in a loop of its own JVM."""
    program = Path(__file__).resolve().parent / "programs" / "SuccessLoop.java"
    command = [str(jmeter_java_path()), STORE_FAILURES, "-cp", str(toolchain.ensure_agent()), str(program)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
